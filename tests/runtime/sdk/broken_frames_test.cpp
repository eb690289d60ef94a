// Whatever a caller sends: its connection ends with `refused`, and the worker serves the others.
#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/sdk/fake_cluster.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"

namespace orrery::sdk {
namespace {

class BrokenFrames : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<FakeCluster>();
    cluster->start(SDK_WORKER);
  }

  static void TearDownTestSuite() { cluster.reset(); }

  void TearDown() override {
    EXPECT_EQ(cluster->driver().worker("trainer", 0).call<int>("add", 1, 2), 3);
  }

  static Peer peer() { return cluster->peer(cluster->name_of("trainer", 0), "driver:raw"); }

  static std::unique_ptr<FakeCluster> cluster;
};

std::unique_ptr<FakeCluster> BrokenFrames::cluster;

const std::string kCall =
    R"({"t":"call","id":1,"method":"echo","args":[{"$buffer":0}],"kwargs":{},"deadline_ms":5000,"buffers":[4]})";

TEST_F(BrokenFrames, OfAKnownCallerEndTheConnection) {
  const std::vector<std::string> broken{
      frame_bytes("{}"),
      frame_bytes("[]"),
      frame_bytes("nonsense"),
      frame_bytes(""),
      frame_bytes(R"({"t":"result","id":1,"value":1})"),
      frame_bytes(R"({"t":"call","id":2,"method":"where","args":[],"kwargs":{},"deadline_ms":5})"),
      frame_bytes(R"({"t":"call","id":1,"method":"where","args":{},"kwargs":{},"deadline_ms":5})"),
      frame_bytes(R"({"t":"call","id":1,"method":"where","args":[],"kwargs":{},"deadline_ms":-5})"),
      frame_bytes(
          R"({"t":"call","id":1,"method":"echo","args":[{"$x":1}],"kwargs":{},"deadline_ms":5})"),
      frame_bytes(
          R"({"t":"call","id":1,"method":"echo","args":[99999999999999999999],"kwargs":{},"deadline_ms":5})"),
      frame_bytes(kCall, "123"),
      frame_bytes(kCall, "12345"),
      frame_bytes(R"({"t":"hello"})"),
      frame_bytes(R"({"t":"credit","id":1})"),
      frame_bytes("{\"t\":\"\xff\"}"),
      frame_bytes("{\"t\":" + std::string(100'000, '[')),
      std::string(12, '\xff'),
      frame_bytes(std::string((1 << 20) + 1, ' '))};
  for (const std::string& bytes : broken) {
    RawCaller raw(peer(), "driver:raw");
    raw.send_bytes(bytes);
    EXPECT_EQ(raw.error_type(), "Protocol") << bytes.substr(0, 200);
    EXPECT_TRUE(raw.ends());
  }
}

TEST_F(BrokenFrames, CutOffAnywhereHarmNothing) {
  const std::string whole = frame_bytes(kCall, "1234");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    RawCaller raw(peer(), "driver:raw");
    raw.send_bytes(std::string_view(whole).substr(0, size));
  }
}

TEST_F(BrokenFrames, CancelAndCreditOfNoCallAreLetBe) {
  RawCaller raw(peer(), "driver:raw");
  raw.send({{"t", "cancel"}, {"id", 7}});
  raw.send({{"t", "credit"}, {"id", 7}, {"count", std::uint64_t{1} << 63}});
  raw.send_bytes(frame_bytes(kCall, "1234"));
  EXPECT_EQ(raw.receive()->header["id"], 1);
}

TEST_F(BrokenFrames, RandomBytesFromStrangers) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    // Half of them begin with lengths that make sense.
    if (round % 2 == 0) bytes = frame_bytes(bytes);
    RawCaller raw(peer().port);
    raw.send_bytes(bytes);
  }
}

TEST_F(BrokenFrames, MutatedCallsAreAnsweredOrRefused) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string whole = frame_bytes(kCall, "1234");
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int change = 0; change < 2; ++change) {
      // The lengths stay, so that the frame is complete.
      const std::size_t at = 12 + random() % (bytes.size() - 12);
      bytes[at] = static_cast<char>(random());
    }
    RawCaller raw(peer(), "driver:raw");
    raw.send_bytes(bytes);
    // One that is still a call is answered by its id; its deadline may be another one now.
    const std::optional<Frame> answer = raw.receive();
    ASSERT_TRUE(answer) << bytes;
    EXPECT_TRUE(answer->header["t"] == "refused" || answer->header["t"] == "error" ||
                answer->header["t"] == "result" || answer->header["t"] == "item")
        << answer->header;
  }
}

}  // namespace
}  // namespace orrery::sdk
