// Turns on shared devices, as a worker asks its agent for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/sdk/fake_cluster.hpp"

namespace orrery::sdk {
namespace {

constexpr const char* kGranted = R"({"turn":{"word":"granted"}})";
constexpr const char* kAsk = R"("word":"ask")";
constexpr const char* kRenew = R"("word":"renew")";
constexpr const char* kRelease = R"("word":"release")";
constexpr int kLong_ms = 60'000;

struct Turns : ::testing::Test {
  void SetUp() override {
    cluster.start(SDK_WORKER);
    name = cluster.name_of("trainer", 0);
  }

  /// A call that has the turn until `end`.
  Future<bool> begin(int lease_ms = kLong_ms) {
    return trainer.within(Milliseconds(20'000)).submit<bool>("turn", lease_ms, kLong_ms);
  }

  void end(Future<bool>& turn) {
    trainer.call("open");
    EXPECT_TRUE(turn.get());
  }

  FakeCluster cluster;
  std::string name;
  Driver driver = cluster.driver("test");
  RemoteWorker trainer = driver.worker("trainer", 0);
};

TEST_F(Turns, BeginWhenTheyAreGrantedAndAreGivenBack) {
  Future<bool> turn = begin();
  EXPECT_TRUE(cluster.heard(name, R"({"turn":{"lease_s":60.0,"word":"ask"}})"));
  EXPECT_FALSE(turn.is_ready());
  EXPECT_THAT(cluster.said(name),
              ::testing::Not(::testing::Contains(::testing::HasSubstr(kRelease))));
  cluster.tell(name, kGranted);
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  end(turn);
  EXPECT_TRUE(cluster.heard(name, kRelease));
  // Nothing was under way that a renewal would have to be refused for.
  EXPECT_THAT(cluster.said(name),
              ::testing::Not(::testing::Contains(::testing::HasSubstr(kRenew))));
}

TEST_F(Turns, RenewThemselvesWhileTheyAreHeld) {
  Future<bool> turn = begin(1000);
  EXPECT_TRUE(cluster.heard(name, kAsk));
  cluster.tell(name, kGranted);
  EXPECT_TRUE(cluster.heard(name, kRenew, 2));
  end(turn);
  EXPECT_TRUE(cluster.heard(name, kRelease));
}

TEST_F(Turns, AreAskedForAgainWhenTheAgentRestarts) {
  Future<bool> turn = begin();
  EXPECT_TRUE(cluster.heard(name, kAsk));
  cluster.restart_agent();
  EXPECT_TRUE(cluster.heard(name, kAsk, 2));
  cluster.tell(name, kGranted);
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  cluster.restart_agent();
  EXPECT_TRUE(cluster.heard(name, kAsk, 3));
  end(turn);
  EXPECT_TRUE(cluster.heard(name, kRelease));
  // An agent whose life before has given the turn may not have heard that it came back.
  cluster.restart_agent();
  EXPECT_TRUE(cluster.heard(name, kRelease, 2));
  EXPECT_THAT(cluster.said(name), ::testing::Contains(::testing::HasSubstr(kAsk)).Times(3));
}

TEST_F(Turns, AreOneAtATimeInAWorker) {
  Future<bool> turn = begin();
  EXPECT_TRUE(cluster.heard(name, kAsk));
  try {
    trainer.call("turn", kLong_ms, kLong_ms);
    FAIL() << "it has had two turns";
  } catch (const BadArguments& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("one at a time"));
  }
  cluster.tell(name, kGranted);
  EXPECT_TRUE(trainer.call<bool>("is_held"));
  end(turn);
}

TEST_F(Turns, AreRefusedInTheWordsOfTheAgent) {
  Future<bool> turn = begin(0);
  EXPECT_TRUE(cluster.heard(name, kAsk));
  cluster.tell(name, R"({"error":"turn: needed a word"})");
  EXPECT_THROW(turn.get(), BadArguments);
  EXPECT_TRUE(cluster.heard(name, kRelease));
}

TEST_F(Turns, ALateGrantIsNotTakenForThatOfTheNextAsk) {
  EXPECT_THROW(trainer.call("turn", kLong_ms, 1), CallError);
  EXPECT_TRUE(cluster.heard(name, kRelease));
  Future<bool> turn = begin();
  EXPECT_TRUE(cluster.heard(name, kAsk, 2));
  // Said before the agent has heard the release; then its answer to what came with the release.
  cluster.tell(name, kGranted);
  cluster.tell(name, R"({"error":"turn: this worker does not have the turn; ask for it first"})");
  // Were the turn had, this would change nothing any more.
  cluster.tell(name, R"({"error":"turn: no"})");
  EXPECT_THROW(turn.get(), BadArguments);
}

}  // namespace
}  // namespace orrery::sdk
