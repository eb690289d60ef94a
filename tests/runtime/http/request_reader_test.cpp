// From bytes to requests.
#include "runtime/http/request_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::http {
namespace {

using Found = RequestReader::Found;

RequestLimits small() { return {1024, 100}; }

TEST(RequestReader, TakesARequestApart) {
  RequestReader reader({});
  reader.feed("POST /a?b HTTP/1.1\r\nHost: x\r\nX-Y:  z \r\nContent-Length: 3\r\n\r\nabc");
  ASSERT_EQ(reader.look(), Found::Request);
  const Request request = reader.take();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/a?b");
  EXPECT_EQ(request.header("x-y"), "z");
  EXPECT_EQ(request.body, "abc");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_FALSE(request.http_1_0);
}

TEST(RequestReader, AnyCutOfTheBytesGivesTheSameRequests) {
  const std::string bytes =
      "GET /one HTTP/1.1\r\nHost: x\r\n\r\n"
      "\r\nPOST /two HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi"
      "POST /three HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    RequestReader reader({});
    std::vector<std::string> found;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      while (reader.look() == Found::Request) {
        const Request request = reader.take();
        found.push_back(request.target + " " + request.body);
      }
    }
    EXPECT_THAT(found, testing::ElementsAre("/one ", "/two hi", "/three abcde")) << piece;
    EXPECT_FALSE(reader.has_begun());
  }
}

int refusal_of(std::string_view bytes) {
  RequestReader reader(small());
  reader.feed(bytes);
  const Found found = reader.look();
  return found == Found::Refused ? reader.refusal().status : 0;
}

TEST(RequestReader, RefusesWhatIsTooLarge) {
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nX: " + std::string(2000, 'x')), 431);
  EXPECT_EQ(refusal_of(std::string(2000, 'x')), 431);
  EXPECT_EQ(refusal_of("GET /" + std::string(2000, 'x')), 431);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n"), 413);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" +
                       std::string(255, 'x')),
            413);
}

TEST(RequestReader, RefusesWhatIsNoRequest) {
  for (const char* bytes : {"\x16\x03\x01\x02\x00\x01\x00",
                            "GET\r\n\r\n",
                            "GET / HTTP/2.0\r\n\r\n",
                            "GET / FTP/1.1\r\n\r\n",
                            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
                            "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"})
    EXPECT_GE(refusal_of(bytes), 400) << bytes;
}

TEST(RequestReader, AfterARefusalNothingIsRead) {
  RequestReader reader(small());
  reader.feed("nonsense\r\n\r\n");
  EXPECT_EQ(reader.look(), Found::Refused);
  reader.feed("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(reader.look(), Found::Refused);
}

TEST(RequestReader, SaysOnceWhoWaitsToBeToldToGoOn) {
  RequestReader reader({});
  reader.feed("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(reader.look(), Found::Nothing);
  EXPECT_TRUE(reader.in_body());
  EXPECT_TRUE(reader.take_continue());
  EXPECT_FALSE(reader.take_continue());
  reader.feed("ok");
  EXPECT_EQ(reader.look(), Found::Request);
}

}  // namespace
}  // namespace orrery::http
