#include "runtime/sdk/frame.hpp"

#include <gtest/gtest.h>

#include <random>

#include "runtime/sdk/messages.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::sdk {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// All of a frame's bytes, as they would go out.
std::string sent(const OutgoingFrame& frame) {
  std::string out = frame.head;
  for (const ByteView& buffer : frame.buffers) out.append(buffer.begin(), buffer.end());
  return out;
}

/// Feeds pieces of at most `piece` bytes; big buffers are read in place.
std::vector<Frame> read_in_pieces(FrameReader& reader, std::string_view text, std::size_t piece) {
  std::vector<Frame> out;
  while (!text.empty() && reader.broken().empty()) {
    if (const std::span<std::uint8_t> direct = reader.direct_space(); !direct.empty()) {
      const std::size_t size = std::min({piece, direct.size(), text.size()});
      std::copy_n(text.begin(), size, direct.begin());
      text.remove_prefix(size);
      if (reader.advance(size)) out.push_back(reader.take());
      continue;
    }
    const std::string part(text.substr(0, piece));
    text.remove_prefix(part.size());
    std::span<const std::uint8_t> bytes = bytes_of(part);
    while (reader.feed(bytes)) out.push_back(reader.take());
  }
  return out;
}

constexpr FrameLimits kOpen{kHeaderMax, 1 << 20, true};

TEST(Frames, ComeOutAsTheyWentInHoweverTheyAreCut) {
  Value value = {{"small", Value::binary({1, 2, 3})}, {"none", Value::binary({})}};
  value["big"] = Value::binary(std::vector<std::uint8_t>(200'000, 5));
  const auto written = write_result(value);
  const std::string header = R"({"t":"result","id":1,)" + written->fields + "}";
  std::string stream;
  for (int i = 0; i < 3; ++i) stream += sent(*frame_of(header, written->buffers, written));
  for (const std::size_t piece : {1UL, 7UL, 4096UL, 1'000'000UL}) {
    FrameReader reader(kOpen);
    std::vector<Frame> frames = read_in_pieces(reader, stream, piece);
    ASSERT_EQ(frames.size(), 3U) << piece << " " << reader.broken();
    EXPECT_FALSE(reader.is_inside());
    for (Frame& frame : frames) {
      std::string why;
      const std::optional<FromCallee> message = callee_message(std::move(frame), why);
      ASSERT_TRUE(message) << why;
      EXPECT_EQ(std::get<ResultMessage>(*message).value, value);
    }
  }
}

TEST(Frames, APayloadOverTheLimitIsSkippedAndWhatFollowsIsRead) {
  const std::string stream =
      frame_bytes(R"({"buffers":[5]})", "12345") + frame_bytes(R"({"buffers":[2]})", "ab");
  FrameReader reader({kHeaderMax, 4, true});
  const std::vector<Frame> frames = read_in_pieces(reader, stream, 3);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].skipped, 5U);
  EXPECT_TRUE(frames[0].buffers.empty());
  EXPECT_EQ(frames[1].skipped, 0U);
  EXPECT_EQ(frames[1].buffers[0], (std::vector<std::uint8_t>{'a', 'b'}));
}

TEST(Frames, BrokenOnesEndTheReading) {
  const auto broken = [](const std::string& stream, FrameLimits limits = kOpen) {
    FrameReader reader(limits);
    read_in_pieces(reader, stream, 1000);
    return reader.broken();
  };
  EXPECT_EQ(broken(frame_bytes("{}")), "");
  EXPECT_NE(broken(frame_bytes("")), "");
  EXPECT_NE(broken(std::string(12, '\xff')), "");
  EXPECT_NE(broken(frame_bytes("[]")), "");
  EXPECT_NE(broken(frame_bytes("{}", "a")), "");
  EXPECT_NE(broken(frame_bytes(R"({"buffers":[2]})", "a")), "");
  EXPECT_NE(broken(frame_bytes(R"({"buffers":[1,18446744073709551615]})", "a")), "");
  EXPECT_NE(broken(frame_bytes(R"({"buffers":{}})", "")), "");
  EXPECT_NE(broken(frame_bytes(R"({"buffers":[-1]})", "")), "");
  EXPECT_NE(broken(frame_bytes(R"({"buffers":[1]})", "a"), FrameLimits{}), "");
  EXPECT_NE(broken(frame_bytes(std::string(5000, ' ')), FrameLimits{}), "");
  EXPECT_NE(broken(frame_bytes(std::string(kHeaderMax + 1, ' '))), "");
}

TEST(Frames, AHeaderOverTheLimitIsNotMade) {
  EXPECT_TRUE(frame_of(std::string(kHeaderMax, ' ')));
  EXPECT_FALSE(frame_of(std::string(kHeaderMax + 1, ' ')));
}

TEST(Messages, FieldsOfAnotherKindAreNamed) {
  const auto why_not = [](const Value& header) {
    std::string why;
    // Numbers as the reader of headers has them.
    return caller_message({Value::parse(header.dump()), {}, 0}, why) ? std::string() : why;
  };
  const Value call = {{"t", "call"},
                      {"id", 1},
                      {"method", "m"},
                      {"args", Value::array()},
                      {"kwargs", Value::object()},
                      {"deadline_ms", 5}};
  EXPECT_EQ(why_not(call), "");
  for (const char* field : {"id", "method", "args", "kwargs", "deadline_ms"}) {
    Value without = call;
    without.erase(field);
    EXPECT_NE(why_not(without).find(field), std::string::npos) << why_not(without);
    Value odd = call;
    odd[field] = true;
    EXPECT_NE(why_not(odd).find(field), std::string::npos) << why_not(odd);
  }
  for (const char* field : {"generation", "once", "attempt", "stream", "credit", "result_max"}) {
    Value odd = call;
    odd[field] = Value::array();
    EXPECT_NE(why_not(odd).find(field), std::string::npos) << why_not(odd);
  }
  Value once = call;
  once["once"] = std::string(65, 'x');
  EXPECT_NE(why_not(once), "");
  EXPECT_NE(why_not({{"t", "result"}, {"id", 1}, {"value", 1}}), "");
  EXPECT_NE(why_not(Value::object()), "");
}

TEST(Messages, MutatedFramesAreReadOrRefused) {
  const auto written =
      write_arguments({1, "two", Value::binary({3, 4})}, {{"five", {6.5, nullptr}}});
  const std::string whole =
      sent(*frame_of(R"({"t":"call","id":1,"method":"m","deadline_ms":9,)" + written->fields + "}",
                     written->buffers,
                     written));
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int read = 0;
  for (std::uint64_t rounds = tests::count_of(5'000, 20'000); rounds > 0; --rounds) {
    std::string bytes = whole;
    for (unsigned change = random() % 4; change > 0; --change) {
      const std::size_t at = random() % bytes.size();
      // The sizes stay small: a reader may wait for what a large one promises.
      if (at >= 4 && at < 10) continue;
      bytes[at] = static_cast<char>(random());
    }
    FrameReader reader(kOpen);
    for (Frame& frame : read_in_pieces(reader, bytes, 1 + random() % 64)) {
      std::string why;
      if (caller_message(std::move(frame), why)) ++read;
    }
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace orrery::sdk
