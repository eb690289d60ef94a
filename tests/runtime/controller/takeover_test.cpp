// What outlives a controller, a full disk, and a journal that is put back.

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/control/epoch_leap.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "tests/runtime/controller/daemon_in_test.hpp"
#include "tests/runtime/controller/kept_journal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::runtime::tests {
namespace {

OpenStore sqlite_at(const std::string& path) {
  return [path](const Leadership&) -> Result<std::unique_ptr<StateStore>> {
    Result<std::unique_ptr<SqliteStore>> store =
        SqliteStore::open(path, SqliteStore::Access::Append);
    if (!store) return store.errors();
    return std::unique_ptr<StateStore>(std::move(store).value());
  };
}

TEST(Takeover, AControllerThatStartsAgainRestartsNoWorker) {
  const TemporaryFolder folder;
  const std::string path = folder.file("journal.db");
  FakeTransport transport;
  FakeNode a(transport, "a", 4);
  FakeNode b(transport, "b", 4);
  JobId job;
  std::uint64_t cluster = 0;
  {
    const auto daemon = start_daemon(transport, sqlite_at(path));
    ASSERT_TRUE(eventually([&] { return a.holds_lease() && b.holds_lease(); }));
    const RequestOutcome answer = submitted(*daemon, JobBuilder("j").replicas(8).spec());
    job = answer.job;
    ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
    cluster = looked(*daemon, [](const ControlView& v) { return v.state.settings.cluster; });
    EXPECT_NE(cluster, 0u);
  }
  const auto daemon = start_daemon(transport, sqlite_at(path));
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
  EXPECT_EQ(a.starts() + b.starts(), 8u);
  const auto [epoch, nodes, same] = looked(*daemon, [cluster](const ControlView& v) {
    return std::tuple(v.state.epoch, v.state.nodes.size(), v.state.settings.cluster == cluster);
  });
  EXPECT_EQ(epoch, Epoch{2});
  EXPECT_EQ(nodes, 2u) << "nodes keep their numbers by their names";
  EXPECT_TRUE(same);
}

ControllerConfig closed_config(std::vector<std::string> names, std::int32_t spares = 0) {
  ControllerConfig config = quick_config();
  config.closed_cluster = true;
  NodeGroup group;
  group.name = "gpu";
  group.count = static_cast<std::int32_t>(names.size());
  group.cpu = MilliCpu{4000};
  group.spares = spares;
  group.node_names = std::move(names);
  config.groups = {group};
  return config;
}

TEST(Takeover, NodesAddedToAConfiguredGroupAreDeclared) {
  KeptJournal journal;
  FakeTransport transport;
  FakeNode c(transport, "c", 0);
  { const auto daemon = start_daemon(transport, journal.opener(), closed_config({"a", "b"}, 1)); }
  {
    const auto daemon =
        start_daemon(transport, journal.opener(), closed_config({"a", "c", "b", "d"}, 1));
    EXPECT_TRUE(eventually([&] { return c.holds_lease(); })) << c.last_refusal();
    using Row = std::tuple<std::string, std::string, bool>;
    const auto nodes = looked(*daemon, [](const ControlView& v) {
      std::vector<Row> rows;
      for (const NodeState& node : v.state.nodes)
        rows.emplace_back(node.name, node.group, node.spare || !node.stands_in_for.is_none());
      return rows;
    });
    EXPECT_EQ(
        nodes,
        (std::vector<Row>{
            {"a", "gpu", false}, {"b", "gpu", true}, {"c", "gpu", false}, {"d", "gpu", false}}))
        << "one spare was asked for, and is there";
  }
  const auto daemon = start_daemon(transport, journal.opener(), closed_config({"a", "c", "e"}, 1));
  const auto [count, is_spare] = looked(*daemon, [](const ControlView& v) {
    return std::pair(v.state.nodes.size(), bool{v.state.nodes.back().spare});
  });
  EXPECT_EQ(count, 5u);
  EXPECT_TRUE(is_spare) << "the one before is not of the group any more";
}

TEST(Takeover, ANodeThatWasTakenOutOfAClosedClusterIsRefused) {
  KeptJournal journal;
  FakeTransport transport;
  FakeNode a(transport, "a", 0);
  FakeNode b(transport, "b", 0);
  {
    const auto daemon = start_daemon(transport, journal.opener(), closed_config({"a", "b"}));
    ASSERT_TRUE(eventually([&] { return a.holds_lease() && b.holds_lease(); }));
  }
  const auto daemon = start_daemon(transport, journal.opener(), closed_config({"b"}));
  EXPECT_TRUE(eventually([&] { return a.last_refusal().find("closed") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] {
    return looked(*daemon,
                  [](const ControlView& v) { return v.state.nodes[1].heard == v.state.epoch; });
  })) << "the other one is welcome";
}

TEST(Takeover, AFullStoreStopsAdmissionAndNothingElseAndIsForgivenOnceThereIsSpace) {
  KeptJournal journal;
  FakeTransport transport;
  FakeNode a(transport, "a", 2);
  const auto daemon = start_daemon(transport, journal.opener());
  ASSERT_TRUE(eventually([&] { return a.holds_lease(); }));
  const RequestOutcome kept = submitted(*daemon, JobBuilder("kept").spec());
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, kept.job) == JobPhase::Running; }));
  journal.full = true;
  EXPECT_EQ(submitted(*daemon, JobBuilder("lost").spec()).kind, RequestOutcome::Kind::Unavailable);
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::StoreFailed; }));
  const RequestOutcome refused = submitted(*daemon, JobBuilder("late").spec());
  EXPECT_NE(refused.message.find("full"), std::string::npos) << refused.message;
  const std::size_t renewed = a.renewals();
  EXPECT_TRUE(eventually([&] { return a.renewals() > renewed; })) << "leases go on";
  EXPECT_EQ(phase_of(*daemon, kept.job), JobPhase::Running);
  journal.full = false;
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }));
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, kept.job) == JobPhase::Running; }));
  EXPECT_EQ(submitted(*daemon, JobBuilder("late").spec()).kind, RequestOutcome::Kind::Accepted);
  EXPECT_EQ(looked(*daemon, [](const ControlView& v) { return v.state.named("default.lost"); }),
            JobId::none())
      << "what was not accepted has not happened";
  ASSERT_TRUE(eventually([&] { return a.running() == 2; }));
  EXPECT_EQ(a.starts(), 2u);
}

// A term that has not been written is none: the one before goes on renewing.
TEST(Takeover, WhatIsReadIsPromisedOnceItIsDurable) {
  KeptJournal journal;
  FakeTransport transport;
  const auto daemon = start_daemon(transport, journal.opener());
  const auto submit = [&](const char* name) {
    auto spec = std::make_shared<const JobSpec>(JobBuilder(name).spec());
    daemon->ask(JobSubmitted{0, std::move(spec)}, [](const RequestOutcome&) {});
    const std::string full = std::string("default.") + name;
    return eventually([&] {
      return looked(*daemon, [&](const ControlView& v) { return !v.state.named(full).is_none(); });
    });
  };
  const auto promised = [&] {
    auto promise = std::make_shared<std::promise<RequestOutcome>>();
    daemon->when_durable([promise](const RequestOutcome& out) { promise->set_value(out); });
    return promise->get_future();
  };
  const auto is_told = [&](std::future<RequestOutcome>& outcome) {
    (void)admission_of(*daemon);  // By then the controller has worked since it was asked.
    (void)admission_of(*daemon);
    return outcome.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  EXPECT_EQ(promised().get().kind, RequestOutcome::Kind::Accepted);
  journal.lags = true;
  ASSERT_TRUE(submit("late"));
  std::future<RequestOutcome> late = promised();
  EXPECT_FALSE(is_told(late));
  journal.catch_up();
  ASSERT_TRUE(eventually([&] { return is_told(late); }));
  EXPECT_EQ(late.get().kind, RequestOutcome::Kind::Accepted);
  journal.lags = true;
  ASSERT_TRUE(submit("lost"));
  std::future<RequestOutcome> lost = promised();
  journal.full = true;
  journal.catch_up();
  EXPECT_EQ(lost.get().kind, RequestOutcome::Kind::Unavailable);
}

TEST(Takeover, LeasesGoOnThoughAFullStoreOpensAgainAndAgain) {
  KeptJournal journal;
  journal.opens = true;
  FakeTransport transport;
  FakeNode a(transport, "a", 2);
  const auto daemon = start_daemon(transport, journal.opener());
  ASSERT_TRUE(eventually([&] { return a.holds_lease(); }));
  const RequestOutcome kept = submitted(*daemon, JobBuilder("kept").spec());
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, kept.job) == JobPhase::Running; }));
  // A node may come before the daemon leads, and is refused once.
  const std::size_t refusals = a.refusals();
  journal.full = true;
  EXPECT_EQ(submitted(*daemon, JobBuilder("lost").spec()).kind, RequestOutcome::Kind::Unavailable);
  const int opened = journal.opened;
  ASSERT_TRUE(eventually([&] { return journal.opened >= opened + 3; }));
  const std::size_t renewed = a.renewals();
  EXPECT_TRUE(eventually([&] { return a.renewals() > renewed; }));
  EXPECT_EQ(a.refusals(), refusals) << "its stream was ended: " << a.last_refusal();
  EXPECT_EQ(admission_of(*daemon), Admission::StoreFailed);
  EXPECT_EQ(phase_of(*daemon, kept.job), JobPhase::Running);
  journal.full = false;
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }));
  EXPECT_TRUE(eventually([&] { return phase_of(*daemon, kept.job) == JobPhase::Running; }));
  EXPECT_EQ(submitted(*daemon, JobBuilder("late").spec()).kind, RequestOutcome::Kind::Accepted);
  ASSERT_TRUE(eventually([&] { return a.running() == 2; }));
  EXPECT_EQ(a.starts(), 2u);
}

TEST(Takeover, ANodeThatComesWhileTheStoreFailsIsToldAndJoinsTheNextTerm) {
  KeptJournal journal;
  FakeTransport transport;
  FakeNode a(transport, "a", 2);
  const auto daemon = start_daemon(transport, journal.opener());
  ASSERT_TRUE(eventually([&] { return a.holds_lease(); }));
  journal.full = true;
  // The first one's declaration is what the store refuses; the second one finds it halted.
  FakeNode b(transport, "b", 2);
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::StoreFailed; }));
  const std::string why = looked(*daemon, [](const ControlView& v) { return v.facts.why; });
  EXPECT_NE(why.find("the disk is full"), std::string::npos) << why;
  EXPECT_TRUE(eventually([&] { return b.last_refusal().find("journal") != std::string::npos; }));
  FakeNode c(transport, "c", 2);
  EXPECT_TRUE(eventually([&] { return c.last_refusal().find("journal") != std::string::npos; }));
  journal.full = false;
  for (const FakeNode* node : {&a, &b, &c})
    EXPECT_TRUE(eventually([&] { return node->holds_lease(); }));
}

/// A journal that is put back from a copy, under nodes that have heard of what came after it.
class Restored : public ::testing::Test {
 protected:
  std::unique_ptr<ControllerDaemon> start() {
    return start_daemon(transport_, sqlite_at(path_), [] {
      ControllerConfig config = quick_config();
      config.settings.takeover_grace = Duration::seconds(1);
      return config;
    }());
  }

  /// As the manual says, after an orderly end.
  void back_up() { std::filesystem::copy_file(path_, path_ + ".copy"); }

  void restore() {
    std::filesystem::remove(path_);
    std::filesystem::copy_file(path_ + ".copy", path_);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("journal.db");
  FakeTransport transport_;
  FakeNode node_{transport_, "a", 4};
};

TEST_F(Restored, UnderNodesOfALaterEpochLeadsThemAgain) {
  {
    const auto daemon = start();
    ASSERT_TRUE(eventually([&] { return node_.holds_lease(); }));
  }
  back_up();
  JobId lost;
  for (int term = 0; term < 4; ++term) {
    const auto daemon = start();
    const std::size_t renewals = node_.renewals();
    ASSERT_TRUE(eventually([&] { return node_.renewals() > renewals; }));
    if (term < 3) continue;
    lost = submitted(*daemon, JobBuilder("lost").spec()).job;
    ASSERT_TRUE(eventually([&] { return phase_of(*daemon, lost) == JobPhase::Running; }));
  }
  restore();
  const std::size_t renewals = node_.renewals();
  const auto daemon = start();
  EXPECT_TRUE(eventually([&] { return node_.renewals() > renewals; })) << "the node is not silent";
  EXPECT_GT(looked(*daemon, [](const ControlView& v) { return v.state.epoch; }), Epoch{5});
  EXPECT_NE(history_of(*daemon).find("JournalIsBehind a: the node has heard of epoch 5"),
            std::string::npos)
      << history_of(*daemon);
  EXPECT_TRUE(eventually([&] { return node_.running() == 0; }))
      << "what the journal lacks is ended";
  const JobId job = submitted(*daemon, JobBuilder("new").spec()).job;
  EXPECT_GT(job, lost) << "a number that nodes may know is not used again";
  EXPECT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
  EXPECT_EQ(phase_of(*daemon, lost), JobPhase::Unknown);
}

TEST_F(Restored, UnderNodesOfTheSameEpochIsNoticedByTheRecordsThatTheySaw) {
  {
    const auto daemon = start();
    ASSERT_TRUE(eventually([&] { return node_.holds_lease(); }));
  }
  back_up();
  JobId lost;
  {
    const auto daemon = start();
    lost = submitted(*daemon, JobBuilder("lost").spec()).job;
    ASSERT_TRUE(eventually([&] { return phase_of(*daemon, lost) == JobPhase::Running; }));
  }
  restore();
  {
    const auto daemon = start();
    ASSERT_TRUE(eventually([&] { return node_.running() == 0; })) << "what the journal lacks";
    ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }));
    ASSERT_TRUE(eventually(
        [&] { return history_of(*daemon).find("JournalIsBehind a:") != std::string::npos; }));
    const JobId job = submitted(*daemon, JobBuilder("new").spec()).job;
    EXPECT_GT(job, lost);
    ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }))
        << "the exit that the node remembers is another job's";
    EXPECT_EQ(looked(*daemon, [](const ControlView& v) { return v.state.epoch; }),
              Epoch{2 + kEpochLeap})
        << "it leapt once";
  }
}

}  // namespace
}  // namespace orrery::runtime::tests
