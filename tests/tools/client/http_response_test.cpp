#include "tools/client/http_response.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;

/// Gives a text in pieces, then its end.
class TextStream final : public Stream {
 public:
  TextStream(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}

  Status write(std::string_view, Deadline) override { return Done{}; }

  Result<std::size_t> read(char* bytes, std::size_t size, Deadline) override {
    const std::size_t count = std::min({size, piece_, text_.size() - at_});
    std::memcpy(bytes, text_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t piece_;
  std::size_t at_ = 0;
};

struct Read {
  ResponseHead head;
  std::string body;
  std::string error;
};

Read read(const std::string& text, std::size_t piece = 1 << 20) {
  TextStream stream(text, piece);
  ResponseReader reader(stream);
  const auto head = reader.head({});
  if (!head) return {{}, {}, head.errors().front().text()};
  Read out{*head, {}, {}};
  while (true) {
    const auto part = reader.body({});
    if (!part) return {*head, out.body, part.errors().front().text()};
    if (part->empty()) return out;
    out.body += *part;
  }
}

TEST(HttpResponse, EachFramingGivesTheBodyInPiecesOfAnySize) {
  const std::string framings[] = {
      "HTTP/1.1 200 OK\r\nContent-Length: 11\r\ncontent-type: text/plain\r\n\r\nhello world",
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
      "6\r\nhello \r\n5;x=1\r\nworld\r\n0\r\nTrailer: 1\r\n\r\n",
      "HTTP/1.0 200\r\nContent-Type: text/plain\r\n\r\nhello world"};
  for (const std::string& text : framings)
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      const Read got = read(text, piece);
      EXPECT_EQ(got.error, "");
      EXPECT_EQ(got.head.status, 200);
      EXPECT_EQ(got.head.content_type, "text/plain");
      EXPECT_EQ(got.body, "hello world") << piece;
    }
}

TEST(HttpResponse, ABodyThatIsCutOffIsAnError) {
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello").error,
              HasSubstr("in the middle"));
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhel").error,
              HasSubstr("in the middle"));
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nConte").error, HasSubstr("in the middle"));
}

TEST(HttpResponse, WhatIsNoHttpIsSaidSo) {
  EXPECT_THAT(read("SSH-2.0-OpenSSH_9.2\r\n").error, HasSubstr("does not speak HTTP"));
  EXPECT_THAT(read("HTTP/1.1 abc\r\n\r\n").error, HasSubstr("does not speak HTTP"));
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").error,
              HasSubstr("does not speak HTTP"));
  EXPECT_THAT(read(std::string(1 << 20, 'x')).error, HasSubstr("does not speak HTTP"));
}

}  // namespace
}  // namespace orrery::cli
