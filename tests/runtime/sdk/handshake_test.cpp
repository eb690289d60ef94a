// Who may call a worker, and whom a caller believes.
#include <gtest/gtest.h>

#include "runtime/sdk/hashes.hpp"
#include "tests/runtime/sdk/fake_cluster.hpp"
#include "tests/runtime/sdk/raw_caller.hpp"

namespace orrery::sdk {
namespace {

TEST(Hashes, KeysAndProofsAreThoseOfThePage) {
  // Made with `openssl dgst -sha256 -hmac`.
  EXPECT_EQ(hmac_hex("key", "The quick brown fox jumps over the lazy dog"),
            "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
  const std::string key = call_key("token", "7-1-0");
  EXPECT_EQ(to_hex(key), hmac_hex("token", "orrery-call/1 7-1-0"));
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(call_proof(key, ProofSide::Server, "aa", "bb", "cc"),
            hmac_hex(key, "server\naa\nbb\ncc"));
  EXPECT_EQ(call_proof(key, ProofSide::Client, "aa", "bb", ""), hmac_hex(key, "client\naa\nbb\n"));
  EXPECT_EQ(from_hex("00ffAb"), std::string("\0\xff\xab", 3));
  EXPECT_FALSE(from_hex("0"));
  EXPECT_FALSE(from_hex("zz"));
}

class Handshake : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<FakeCluster>();
    cluster->start(SDK_WORKER);
  }

  static void TearDownTestSuite() { cluster.reset(); }

  static std::string worker() { return cluster->name_of("trainer", 0); }

  static Peer peer(const std::string& caller = "driver:test") {
    return cluster->peer(worker(), caller);
  }

  /// The type with which a handshake is refused; empty where it is not.
  static std::string refusal(const std::string& caller,
                             const std::string& to,
                             const std::string& key) {
    RawCaller raw(peer().port);
    const std::optional<Frame> last = raw.shake_hands(caller, to, key);
    if (!last || last->header["t"] != "refused") return "";
    EXPECT_TRUE(raw.ends());
    return last->header["error"]["type"].get<std::string>();
  }

  static std::unique_ptr<FakeCluster> cluster;
};

std::unique_ptr<FakeCluster> Handshake::cluster;

TEST_F(Handshake, AKnownCallerIsWelcomed) {
  RawCaller raw(peer().port);
  const std::optional<Frame> welcome = raw.shake_hands("driver:test", worker(), peer().key);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->header["t"], "welcome");
  EXPECT_EQ(welcome->header["worker"], worker());
  EXPECT_EQ(welcome->header["role"], "trainer");
  EXPECT_EQ(welcome->header["rank"], 0);
  EXPECT_EQ(welcome->header["role_rank"], 0);
  EXPECT_EQ(welcome->header["generation"], 1);
  EXPECT_EQ(welcome->header["message_max"], 1 << 23);
}

TEST_F(Handshake, AnotherKeyNameOrWorkerIsRefused) {
  EXPECT_EQ(refusal("driver:test", worker(), std::string(32, 'k')), "NotAuthorised");
  // The key of one caller is none of another.
  EXPECT_EQ(refusal("driver:other", worker(), peer().key), "NotAuthorised");
  EXPECT_EQ(refusal("7-9-9", worker(), peer().key), "NotAuthorised");
  EXPECT_EQ(refusal("driver:test", "7-9-9", peer().key), "NotAuthorised");
  EXPECT_EQ(refusal("driver: test", worker(), peer("driver: test").key), "Protocol");
  EXPECT_EQ(refusal("", worker(), peer("").key), "Protocol");
}

TEST_F(Handshake, NothingElseIsTakenBeforeIt) {
  const std::vector<Value> early{{{"t", "call"},
                                  {"id", 1},
                                  {"method", "add"},
                                  {"args", {1, 2}},
                                  {"kwargs", Value::object()},
                                  {"deadline_ms", 1000}},
                                 {{"t", "proof"}, {"proof", std::string(64, '0')}},
                                 {{"t", "cancel"}, {"id", 1}},
                                 {{"t", "hello"},
                                  {"protocol", 2},
                                  {"caller", "driver:test"},
                                  {"to", worker()},
                                  {"nonce", std::string(32, 'a')}},
                                 {{"t", "hello"},
                                  {"protocol", 1},
                                  {"caller", "driver:test"},
                                  {"to", worker()},
                                  {"nonce", "short"}}};
  for (const Value& message : early) {
    RawCaller raw(peer().port);
    raw.send(message);
    EXPECT_EQ(raw.error_type(), "Protocol") << message;
    EXPECT_TRUE(raw.ends());
  }
}

TEST_F(Handshake, ALongHeaderOrAPayloadIsTooMuchForAStranger) {
  RawCaller long_one(peer().port);
  long_one.send_bytes(frame_bytes("{\"t\":\"hello\",\"x\":\"" + std::string(4100, 'x') + "\"}"));
  EXPECT_EQ(long_one.error_type(), "Protocol");
  RawCaller loaded(peer().port);
  loaded.send({{"t", "hello"}, {"buffers", {1}}}, "x");
  EXPECT_EQ(loaded.error_type(), "Protocol");
}

TEST_F(Handshake, TheWorkerProvesItselfFirst) {
  // The directory has another token of it than it has itself.
  FakeCluster other;
  other.start(SDK_WORKER);
  const std::string name = other.name_of("trainer", 0);
  Peer there = other.peer(name, "");
  other.change(name, there, "another token");
  EXPECT_THROW(other.driver().worker("trainer", 0).call("add", 1, 2), NotAuthorised);
}

TEST_F(Handshake, AnotherWorkerBehindThePortIsNotBelieved) {
  FakeCluster other;
  other.start(SDK_WORKER);
  const std::string name = other.name_of("trainer", 0);
  Peer moved = other.peer(name, "");
  moved.port = peer().port;
  other.change(name, moved);
  EXPECT_THROW(other.driver().worker("trainer", 0).call("add", 1, 2), NotAuthorised);
}

TEST_F(Handshake, PlaintextStaysOnThisMachine) {
  FakeCluster other;
  other.start(SDK_WORKER);
  const std::string name = other.name_of("trainer", 0);
  Peer far = other.peer(name, "");
  far.address = "192.0.2.1";
  other.change(name, far);
  EXPECT_THROW(other.driver().worker("trainer", 0).call("add", 1, 2), NotAuthorised);
}

TEST_F(Handshake, TheDirectoryRefusesAWrongToken) {
  DriverOptions options = cluster->driver_options();
  options.token = "wrong";
  EXPECT_THROW(Driver(options).worker("trainer", 0).call("add", 1, 2), NotAuthorised);
}

}  // namespace
}  // namespace orrery::sdk
