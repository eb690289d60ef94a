// A node's name belongs to one state folder at a time: an agent of another one knows nothing of
// what the agent before has started, and waits until that cannot run any more.

#include <memory>
#include <string>

#include "runtime/store/sqlite_store.hpp"
#include "tests/runtime/controller/agent_stream.hpp"
#include "tests/runtime/controller/daemon_in_test.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime::tests {
namespace {

class OtherFolder : public ::testing::Test {
 protected:
  /// Begins, or goes on with the same journal.
  void lead(Duration lease = Duration::seconds(3600)) {
    ControllerConfig config = quick_config();
    config.settings.node_lease = lease;
    config.settings.fence_margin = lease * 0.5;
    daemon_ = start_daemon(
        transport_,
        [this](const Leadership&) -> Result<std::unique_ptr<StateStore>> {
          Result<std::unique_ptr<SqliteStore>> store =
              SqliteStore::open(folder_.file("journal.db"), SqliteStore::Access::Append);
          if (!store) return store.errors();
          return std::unique_ptr<StateStore>(std::move(store).value());
        },
        config);
  }

  std::unique_ptr<AgentStream> stream() { return std::make_unique<AgentStream>(transport_, "a"); }

  static Hello hello_of(const AgentStream& agent, std::uint64_t folder, std::uint64_t session) {
    Hello hello = agent.hello("a", session, 4);
    hello.folder_id = folder;
    return hello;
  }

  /// What an agent of this folder that says hello now is told instead of a welcome; an empty
  /// reason: it is welcomed.
  Refusal told(std::uint64_t folder, std::uint64_t session, bool unknown = false) {
    const std::unique_ptr<AgentStream> agent = stream();
    Hello hello = hello_of(*agent, folder, session);
    hello.unknown = unknown;
    agent->say(hello);
    EXPECT_TRUE(eventually([&] { return !agent->heard<Welcome>().empty() || agent->is_over(); }));
    const std::vector<Refusal> refusals = agent->heard<Refusal>();
    return refusals.empty() ? Refusal{} : refusals.front();
  }

  /// The agent of folder 1, session 5; a worker runs there.
  void begin_with_a_worker() {
    first_ = stream();
    first_->say_hello(hello_of(*first_, 1, 5));
    first_->register_itself();
    job_ = submitted(*daemon_, JobBuilder("j").spec()).job;
    ASSERT_TRUE(eventually([&] { return !first_->heard<Order>().empty(); }))
        << history_of(*daemon_);
  }

  bool is_silent() {
    return looked(*daemon_, [](const ControlView& view) { return view.state.nodes.at(0).silent; });
  }

  const TemporaryFolder folder_;
  FakeTransport transport_;
  std::unique_ptr<ControllerDaemon> daemon_;
  std::unique_ptr<AgentStream> first_;
  JobId job_;
};

TEST_F(OtherFolder, DoesNotTakeThePlaceOfAnAgentThatIsConnected) {
  lead();
  begin_with_a_worker();
  const Refusal refusal = told(2, 9);
  EXPECT_NE(refusal.reason.find("is connected with another state folder"), std::string::npos)
      << refusal.reason;
  EXPECT_TRUE(refusal.again);
  EXPECT_FALSE(first_->is_over());
  EXPECT_EQ(told(1, 6).reason, "") << "the same folder's next agent may";
  EXPECT_TRUE(first_->is_over());
}

TEST_F(OtherFolder, WaitsWhileWorkersMayRunUnderTheLeaseOfTheOneBefore) {
  lead();
  begin_with_a_worker();
  first_.reset();
  const Refusal refusal = told(2, 9);
  EXPECT_NE(refusal.reason.find("once the lease is over"), std::string::npos) << refusal.reason;
  EXPECT_TRUE(refusal.again);
  EXPECT_EQ(told(1, 6).reason, "");
}

TEST_F(OtherFolder, IsWelcomeOnceTheNodeIsSilent) {
  lead(Duration::seconds(3));  // Long enough for a slow machine to place the worker.
  begin_with_a_worker();
  first_.reset();
  ASSERT_TRUE(eventually([&] { return told(2, 9).reason.empty(); }));
  EXPECT_TRUE(is_silent()) << "what ran there has been given up";
  EXPECT_EQ(told(1, 5).session_above, 9u)
      << "the agent of before is no stranger, but its session is over";
  EXPECT_EQ(told(1, 10).reason, "");
}

TEST_F(OtherFolder, IsWelcomeAtOnceWhereNothingRan) {
  lead();
  first_ = stream();
  first_->say_hello(hello_of(*first_, 1, 5));
  first_->register_itself();
  first_.reset();
  EXPECT_EQ(told(2, 5).session_above, 5u) << "the first's heartbeats bear this number";
  EXPECT_EQ(told(2, 6).reason, "");
}

TEST_F(OtherFolder, IsToldByAnAgentThatWasNeverWelcomedWhereTheNextControllerKnowsNoFolder) {
  lead();
  begin_with_a_worker();
  first_.reset();
  daemon_.reset();
  lead();
  EXPECT_NE(told(2, 9, true).reason.find("once the lease is over"), std::string::npos);
  EXPECT_EQ(told(1, 5).reason, "");
}

// Workers are placed on a node as soon as it is declared, which is before its agent is welcomed.
TEST_F(OtherFolder, IsNoneWhereNoAgentWasBefore) {
  lead();
  submitted(*daemon_, JobBuilder("j").spec());
  EXPECT_EQ(told(1, 5, true).reason, "");
  EXPECT_TRUE(eventually([&] { return phase_of(*daemon_, JobId{0}) == JobPhase::Starting; }))
      << history_of(*daemon_);
}

TEST_F(OtherFolder, AnEarlierSessionOfTheSameBeginsANewOne) {
  lead();
  begin_with_a_worker();
  EXPECT_FALSE(told(1, 4).again) << "while the later one is connected";
  first_.reset();
  const Refusal refusal = told(1, 4);
  EXPECT_EQ(refusal.session_above, 5u);
  EXPECT_TRUE(refusal.again);
}

}  // namespace
}  // namespace orrery::runtime::tests
