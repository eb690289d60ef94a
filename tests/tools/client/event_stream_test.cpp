#include "tools/client/event_stream.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::cli {
namespace {

constexpr std::string_view kStream =
    ": hello\n\nevent: log\nid: 7.1\ndata: one\ndata: two\n\ndata:three\r\n\r\nevent: end\n\n";

/// All events of the stream, fed in pieces of `size` bytes.
std::vector<ServerEvent> events(std::string_view stream, std::size_t size) {
  EventStreamParser parser;
  std::vector<ServerEvent> out;
  for (std::size_t at = 0; at < stream.size(); at += size) {
    parser.feed(stream.substr(at, size));
    while (auto event = parser.next()) out.push_back(*event);
  }
  return out;
}

TEST(EventStream, PiecesOfAnySizeGiveTheSameEvents) {
  for (std::size_t size = 1; size <= kStream.size(); ++size) {
    const auto all = events(kStream, size);
    ASSERT_EQ(all.size(), 3U) << size;
    EXPECT_EQ(all[0].name, "log");
    EXPECT_EQ(all[0].id, "7.1");
    EXPECT_EQ(all[0].data, "one\ntwo");
    EXPECT_EQ(all[1].name, "");
    EXPECT_EQ(all[1].data, "three");
    EXPECT_EQ(all[2].name, "end");
  }
}

TEST(EventStream, AnEventThatHasNotEndedIsNone) {
  EXPECT_TRUE(events("event: log\ndata: one\n", 4).empty());
}

}  // namespace
}  // namespace orrery::cli
