#include <atomic>
#include <future>
#include <mutex>

#include "tests/runtime/controller/agent_stream.hpp"
#include "tests/runtime/controller/daemon_in_test.hpp"

namespace orrery::runtime::tests {
namespace {

OpenStore in_memory() {
  return [](const Leadership&) {
    return Result<std::unique_ptr<StateStore>>(std::make_unique<MemoryStore>());
  };
}

JobSpec three_roles() {
  JobSpec spec = JobBuilder("train").replicas(2).role("actor", 3).follower("evaluator", 1).spec();
  return spec;
}

TEST(Daemon, RunsAJobOfThreeRolesOnTwoNodesToItsEnd) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  FakeNode a(transport, "a", 4);
  FakeNode b(transport, "b", 4);
  const RequestOutcome answer = submitted(*daemon, three_roles());
  ASSERT_EQ(answer.kind, RequestOutcome::Kind::Accepted) << answer.message;
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, answer.job) == JobPhase::Running; }));
  EXPECT_EQ(a.running() + b.running(), 6u);
  for (FakeNode* node : {&a, &b})
    for (const auto& [job, size] : node->members()) EXPECT_EQ(size, 6u) << "everybody is told";
  a.end_role(0, 0);
  b.end_role(0, 0);
  a.end_role(1, 0);
  b.end_role(1, 0);
  EXPECT_TRUE(eventually([&] { return phase_of(*daemon, answer.job) == JobPhase::Succeeded; }));
  EXPECT_TRUE(eventually([&] { return a.running() + b.running() == 0; }))
      << "followers are drained";
  EXPECT_EQ(a.starts() + b.starts(), 6u);
  const auto [orders, sent] = looked(*daemon, [](const ControlView& view) {
    return std::pair(view.facts.orders, view.facts.messages_out);
  });
  EXPECT_GT(orders, 0u);
  EXPECT_GE(sent, orders) << "each order is a message, and so is each welcome";
}

TEST(Daemon, AnswersRequestsWhatTheCoreSays) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  FakeNode node(transport, "a", 4);
  const RequestOutcome first = submitted(*daemon, JobBuilder("j").spec(), 77);
  const RequestOutcome again = submitted(*daemon, JobBuilder("j").spec(), 77);
  EXPECT_EQ(again.kind, RequestOutcome::Kind::Accepted);
  EXPECT_EQ(again.job, first.job) << "a repeated request is the same one";
  const RequestOutcome other = submitted(*daemon, JobBuilder("j").spec());
  EXPECT_EQ(other.kind, RequestOutcome::Kind::Refused);
  EXPECT_NE(other.message.find("default.j"), std::string::npos) << other.message;
  const RequestOutcome unknown = asked(*daemon, StopRequested{0, JobId{99}});
  EXPECT_EQ(unknown.kind, RequestOutcome::Kind::Refused);
  const RequestOutcome late =
      asked(*daemon, ProfilingChanged{JobId{99}, Generation{1}, Rank{0}, {{"throughput", 1}}});
  EXPECT_EQ(late.kind, RequestOutcome::Kind::Refused) << "nothing that was ignored is accepted";
  EXPECT_EQ(asked(*daemon, DeleteRequested{0, first.job}).kind, RequestOutcome::Kind::Accepted);
}

// They were forgotten with the next event only: one too many was kept, and all for ever where
// nothing happened.
TEST(Daemon, ForgetsFinishedJobsAlsoWhileNothingHappens) {
  for (const bool by_time : {false, true}) {
    FakeTransport transport;
    ControllerConfig config = quick_config();
    config.settings.retain_finished_max = by_time ? 9 : 2;
    if (by_time) config.settings.retain_finished = Duration::milliseconds(10);
    const auto daemon = start_daemon(transport, in_memory(), config);
    std::vector<JobId> jobs;
    for (const char* name : {"a", "b", "c"}) {
      jobs.push_back(submitted(*daemon, JobBuilder(name).spec()).job);
      EXPECT_EQ(asked(*daemon, StopRequested{0, jobs.back()}).kind, RequestOutcome::Kind::Accepted);
    }
    const auto known = [&] {
      return std::count_if(jobs.begin(), jobs.end(), [&](JobId id) {
        return looked(*daemon,
                      [id](const ControlView& view) { return view.state.find(id) != nullptr; });
      });
    };
    EXPECT_TRUE(eventually([&] { return known() == (by_time ? 0 : 2); })) << known();
  }
}

TEST(Daemon, SendsEventsAndChangesToItsSubscribers) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  FakeNode node(transport, "a", 4);
  std::mutex mutex;
  std::vector<std::string> names;
  std::atomic<int> changes{0};
  const auto events = daemon->follow_events(100, [&](const EventLine& line) {
    const std::lock_guard lock(mutex);
    if (line.job == "default.j") names.push_back(line.event.name);
  });
  const auto changed = daemon->follow_changes([&](JobId) { ++changes; });
  const RequestOutcome answer = submitted(*daemon, JobBuilder("j").spec());
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, answer.job) == JobPhase::Running; }));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(std::count(names.begin(), names.end(), "JobRunning"), 1);
  EXPECT_GT(changes, 0);
}

TEST(Daemon, RefusesAgentsWithAReason) {
  FakeTransport transport;
  ControllerConfig config = quick_config();
  config.closed_cluster = true;
  NodeGroup group;
  group.name = "gpu";
  group.count = 1;
  group.cpu = MilliCpu{4000};
  group.node_names = {"known"};
  config.groups = {group};
  const auto daemon = start_daemon(transport, in_memory(), config);
  FakeNode known(transport, "known", 0);
  FakeNode stranger(transport, "stranger", 0);
  FakeNode nameless(transport, "No Name", 0);
  EXPECT_TRUE(eventually([&] { return known.holds_lease(); }));
  EXPECT_TRUE(
      eventually([&] { return stranger.last_refusal().find("closed") != std::string::npos; }));
  EXPECT_TRUE(
      eventually([&] { return nameless.last_refusal().find("DNS label") != std::string::npos; }));
}

TEST(Daemon, AStreamThatSaysNoHelloFirstIsEnded) {
  FakeTransport transport;
  ControllerConfig config = quick_config();
  config.hello_within = Duration::milliseconds(1);
  const auto daemon = start_daemon(transport, in_memory(), config);
  std::atomic<int> ended{0};
  const auto broken = [&](const std::string& why) {
    EXPECT_NE(why.find("has not said hello"), std::string::npos) << why;
    ++ended;
  };
  transport.open([](const ControllerMessage&) {}, broken);
  EXPECT_TRUE(eventually([&] { return ended == 1; })) << "in time";
}

TEST(Daemon, AStreamThatSaysSomethingElseFirstIsEnded) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  std::atomic<int> ended{0};
  const LinkId link = transport.open([](const ControllerMessage&) {},
                                     [&](const std::string& why) {
                                       EXPECT_NE(why.find("hello first"), std::string::npos) << why;
                                       ++ended;
                                     });
  transport.say(link, Reports{});
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
}

TEST(Daemon, ANodeThatIsNotHeardIsSilentAndItsWorkStartsElsewhere) {
  FakeTransport transport;
  ControllerConfig config = quick_config();
  config.settings.node_lease = Duration::milliseconds(600);
  config.settings.fence_margin = Duration::milliseconds(200);
  const auto daemon = start_daemon(transport, in_memory(), config);
  auto a = std::make_unique<FakeNode>(transport, "a", 1);
  ASSERT_TRUE(eventually([&] { return a->holds_lease(); }));
  JobSpec spec = JobBuilder("j").spec();
  spec.backoff_base = Duration::milliseconds(10);
  spec.unknown_deadline = Duration::milliseconds(50);  // All its nodes are out of contact.
  const RequestOutcome answer = submitted(*daemon, std::move(spec));
  ASSERT_TRUE(eventually([&] { return a->running() == 1; }));
  FakeNode b(transport, "b", 1);
  a.reset();
  EXPECT_TRUE(eventually([&] { return b.running() == 1; })) << history_of(*daemon);
  EXPECT_TRUE(eventually([&] { return phase_of(*daemon, answer.job) == JobPhase::Running; }));
}

// Profilings as they come over HTTP. What is asserted of a time holds only where no more of it went
// by between two of them than a worker may be silent for; on a machine that stands still it is
// tried once more.
TEST(Daemon, AWorkerWhoseProfilingsComeFromClientsLivesAndHangsWithoutThem) {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration kSilence = 500ms;
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  FakeNode node(transport, "a", 1);
  JobBuilder builder("watched");
  builder.raw().failover.edit().hang_after = Duration::milliseconds(500);
  builder.raw().backoff_base = Duration::milliseconds(1);
  const auto restarts = [&](JobId job) {
    return looked(*daemon, [job](const ControlView& v) { return v.state.job(job).row.restarts; });
  };
  for (int tries = 0;; ++tries) {
    ASSERT_LT(tries, 20) << "the machine stands still again and again";
    builder.raw().name = "default.watched" + std::to_string(tries);
    const JobId job = submitted(*daemon, builder.spec()).job;
    const Clock::time_point begun = Clock::now();
    ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
    const Generation generation =
        looked(*daemon, [job](const ControlView& v) { return v.state.job(job).row.generation; });
    Clock::duration silence{};
    for (Clock::time_point last = begun; last < begun + 3 * kSilence;) {
      (void)asked(*daemon, ProfilingChanged{job, generation, Rank{0}, {{"speed", 1}}});
      const Clock::time_point now = Clock::now();
      silence = std::max(silence, now - std::exchange(last, now));
    }
    const auto had = restarts(job);
    const bool stood_still = silence >= kSilence;
    if (!stood_still) {
      EXPECT_EQ(had, 0) << history_of(*daemon);
      EXPECT_TRUE(eventually([&] { return restarts(job) > 0; })) << "no report comes now";
      EXPECT_NE(history_of(*daemon).find("no progress for too long"), std::string::npos)
          << history_of(*daemon);
    }
    asked(*daemon, DeleteRequested{0, job});
    if (!stood_still) return;
  }
}

TEST(Daemon, StepTimesThatComeFromClientsTellWhoStraggles) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  FakeNode node(transport, "a", 2);
  JobBuilder builder("pair");
  builder.replicas(2).raw().failover.edit().straggler_factor = 2;
  const JobId job = submitted(*daemon, builder.spec()).job;
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
  const Generation generation =
      looked(*daemon, [job](const ControlView& v) { return v.state.job(job).row.generation; });
  for (const auto& [rank, seconds] : {std::pair{0U, 1.0}, {1U, 9.0}})
    EXPECT_EQ(
        asked(*daemon, ProfilingChanged{job, generation, Rank{rank}, {{"step_time_s", seconds}}})
            .kind,
        RequestOutcome::Kind::Accepted);
  EXPECT_TRUE(eventually([&] {
    return history_of(*daemon).find("replica 1 is straggling") != std::string::npos;
  })) << history_of(*daemon);
}

TEST(Daemon, AProfilingOfTheJobAsAWholeIsKeptAsTheFirstWorkers) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  FakeNode node(transport, "a", 1);
  const JobId job = submitted(*daemon, JobBuilder("j").spec()).job;
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
  const Generation generation =
      looked(*daemon, [job](const ControlView& v) { return v.state.job(job).row.generation; });
  asked(*daemon, ProfilingChanged{job, generation, Rank::none(), {{"speed", 1}}});
  const auto kept = looked(*daemon, [job](const ControlView& v) {
    return v.state.job(job).profilings->at(0).samples.at(0).rank;
  });
  EXPECT_EQ(kept, Rank{0});
}

TEST(Daemon, NodesAreCheckedInPairsBeforeTheyAreUsedAndTheBrokenAndSlowAreNamed) {
  FakeTransport transport;
  ControllerConfig config = quick_config();
  config.node_check = true;
  const auto daemon = start_daemon(transport, in_memory(), config);
  std::vector<std::unique_ptr<FakeNode>> nodes;
  for (const char* name : {"a", "b", "c", "slow", "broken"})
    nodes.push_back(std::make_unique<FakeNode>(transport, name, 1));
  nodes[3]->check_as(true, false);
  nodes[4]->check_as(false, true);
  const RequestOutcome answer = submitted(*daemon, JobBuilder("j").replicas(4).spec());
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, answer.job) == JobPhase::Running; }));
  EXPECT_EQ(nodes[4]->starts(), 0u) << "the broken node is not used";
  const std::string history = history_of(*daemon);
  EXPECT_NE(history.find("NodeCheckFailed broken: the node check failed: wrong product"),
            std::string::npos)
      << history;
  EXPECT_NE(history.find("NodeStraggling slow"), std::string::npos) << history;
  for (const auto& node : nodes) EXPECT_GE(node->checked_with(), 2u);
}

// The end of the stream before was that of no node, and nobody was told.
TEST(Daemon, WhoFollowsALogIsToldThatTheNodeConnectedAnew) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  AgentStream first(transport, "a");
  first.say_hello(2);
  first.register_itself();
  const JobId job = submitted(*daemon, JobBuilder("j").spec()).job;
  ASSERT_TRUE(eventually([&] { return !first.heard<Order>().empty(); })) << history_of(*daemon);
  std::promise<std::string> told;
  const auto reading = daemon->read_log({job}, [&](const LogPiece& piece) {
    EXPECT_TRUE(piece.passing) << "it will be back";
    if (piece.last) told.set_value(piece.error);
  });
  ASSERT_TRUE(eventually([&] { return !first.heard<LogRequest>().empty(); }));
  AgentStream second(transport, "a");
  second.say_hello(2);
  std::future<std::string> why = told.get_future();
  ASSERT_EQ(why.wait_for(kPatience), std::future_status::ready);
  EXPECT_NE(why.get().find("out of reach"), std::string::npos);
}

// It waited five minutes for an answer on the stream before.
TEST(Daemon, ACheckGoesOnWhereTheNodeConnectedAnew) {
  FakeTransport transport;
  ControllerConfig config = quick_config();
  config.node_check = true;
  const auto daemon = start_daemon(transport, in_memory(), config);
  AgentStream first(transport, "a");
  first.say_hello(1);
  first.register_itself();
  ASSERT_TRUE(eventually([&] { return !first.heard<CheckRequest>().empty(); }));
  AgentStream second(transport, "a");
  second.say_hello(1);
  EXPECT_TRUE(eventually([&] { return !second.heard<CheckRequest>().empty(); }))
      << history_of(*daemon);
}

TEST(Daemon, WhyANodeWasNotReplacedIsTold) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  FakeNode a(transport, "a", 2);
  JobBuilder builder = JobBuilder("j").limit(5);
  builder.raw().failover.edit().worker_node_failures_max = 0;
  const JobId job = submitted(*daemon, builder.spec()).job;
  ASSERT_TRUE(eventually([&] { return phase_of(*daemon, job) == JobPhase::Running; }));
  a.end_role(0, 1);
  EXPECT_TRUE(eventually([&] {
    return history_of(*daemon).find(
               "NodeNotReplaced default.j: no relaunch_command is "
               "configured") != std::string::npos;
  })) << history_of(*daemon);
}

TEST(Daemon, ALogOfAnUnknownWorkerIsAnError) {
  FakeTransport transport;
  const auto daemon = start_daemon(transport, in_memory());
  ASSERT_TRUE(eventually([&] { return admission_of(*daemon) == Admission::Open; }));
  std::promise<std::string> told;
  const auto reading = daemon->read_log({JobId{5}}, [&](const LogPiece& piece) {
    EXPECT_FALSE(piece.passing);
    if (piece.last) told.set_value(piece.error);
  });
  EXPECT_EQ(told.get_future().get(), "no such job");
}

}  // namespace
}  // namespace orrery::runtime::tests
