// The rules on decisions and statuses, each with what it must see and what it must let pass.
#include "sim/storm/decision_check.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

namespace orrery::sim {
namespace {

Instant at_s(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

/// Tells a status that the test has made; nothing is known without one.
class OneStatus final : public StatusReader {
 public:
  bool knows(JobId) const override { return told.has_value(); }

  JobStatus status(JobId) const override { return *told; }

  UserEvent event(const Notice& notice) const override { return user_event(notice); }

  std::optional<JobStatus> told;
};

/// Folds one job of two workers with one device each on two nodes, as a sound leader would.
class DecisionCheckTest : public ::testing::Test {
 protected:
  DecisionCheckTest() : check_(Duration::seconds(2), found_) { begin(); }

  void begin() {
    Settings settings;
    settings.preemption_grace = Duration::seconds(20);
    settings.lemon_incidents = 2;
    settings.lemon_window = Duration::seconds(100);
    settings.exclusion = Duration::seconds(50);
    fold(1, EpochStarted{Epoch{1}, settings});
    fold(1, NodesDeclared{{NodeGroup{"main", 3, MilliCpu{8000}, Bytes{1 << 20}, 4, "gpu", 0, 1}}});
    JobSpec spec;
    spec.name = "default.train";
    RoleSpec role;
    role.name = "worker";
    role.min_replicas = role.max_replicas = 2;
    role.bundle.devices = 1;
    spec.roles.push_back(role);
    spec.preemptible = true;
    spec.backoff_limit = 2;
    spec.backoff_base = Duration::seconds(4);
    spec.start_deadline = Duration::seconds(30);
    spec.wait_deadline = Duration::seconds(100);
    spec.drain_grace = Duration::seconds(5);
    spec_ = std::make_shared<const JobSpec>(spec);
    decided_.notices = {phase(JobPhase::Pending, JobPhase::Pending, Reason::Submitted)};
    fold(2, JobSubmitted{0, spec_});
  }

  void fold(std::int64_t second, EventBody body) {
    sequence_ = sequence_.next();
    const Event event{at_s(second), at_s(second), Origin::External, std::move(body)};
    for (Notice& notice : decided_.notices) notice.at = event.at;
    check_.folded(event.at, {sequence_, event, decided_}, reader_);
    decided_.clear();
    reader_.told.reset();
  }

  static Notice of_job(NoticeKind kind) {
    Notice notice;
    notice.kind = kind;
    notice.job = JobId{0};
    return notice;
  }

  static Notice phase(JobPhase from, JobPhase to, Reason reason) {
    Notice notice = of_job(NoticeKind::PhaseChanged);
    notice.from = from;
    notice.to = to;
    notice.reason = reason;
    return notice;
  }

  static Notice node(std::uint32_t id, NodeChange change, bool up) {
    Notice notice;
    notice.kind = NoticeKind::NodeChanged;
    notice.node = NodeId{id};
    notice.change = change;
    notice.up = up;
    return notice;
  }

  static Notice counted(Counter counter, std::int32_t count) {
    Notice notice = of_job(NoticeKind::Counted);
    notice.counter = counter;
    notice.count = count;
    return notice;
  }

  static Notice incident(std::uint32_t number, Reason cause, bool charged) {
    Notice notice = of_job(NoticeKind::IncidentOpened);
    notice.incident = number;
    notice.reason = cause;
    notice.charged = charged;
    notice.role = RoleIndex{0};
    notice.node = NodeId{0};
    return notice;
  }

  static StartWorkers starts(std::uint32_t generation) {
    StartWorkers order{JobId{0}, Generation{generation}, 2, {}};
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      WorkerStart start;
      start.rank = Rank{rank};
      start.role = RoleIndex{0};
      start.local_rank = static_cast<std::int32_t>(rank);
      start.node = NodeId{rank};
      start.incarnation = Incarnation{generation};
      start.devices = 1;
      order.workers.push_back(start);
    }
    return order;
  }

  static WorkersChanged report(WorkerFact fact, std::uint32_t rank, std::int32_t exit_code = 0) {
    WorkersChanged event;
    event.job = JobId{0};
    event.generation = Generation{1};
    event.incarnation = Incarnation{1};
    event.fact = fact;
    event.first = Rank{rank};
    event.exit_code = exit_code;
    return event;
  }

  static StopWorkers stops(Duration grace) {
    return {JobId{0}, Generation{1}, grace, {{Rank{0}, NodeId{0}, Incarnation{1}, Rank{0}}}};
  }

  void start(std::int64_t second) {
    decided_.orders.emplace_back(starts(1));
    decided_.notices = {phase(JobPhase::Pending, JobPhase::Starting, Reason::Granted)};
    fold(second, PlanProposed{});
  }

  void run(std::int64_t second) {
    start(second);
    fold(second, report(WorkerFact::Ready, 0));
    decided_.notices = {phase(JobPhase::Starting, JobPhase::Running, Reason::AllReady)};
    fold(second, report(WorkerFact::Ready, 1));
  }

  /// What a sound status says while the job runs.
  JobStatus running_status(std::int64_t since_s) const {
    JobStatus status;
    status.name = spec_->name;
    status.phase = JobPhase::Running;
    status.message = "all workers are ready";
    status.replicas = status.ready_replicas = status.target = 2;
    status.allocation = {{"worker", "0", NodeId{0}, 1}, {"worker", "1", NodeId{1}, 1}};
    status.generation = Generation{1};
    status.roles = {RoleStatus{"worker", 2, 0, 2, 0, 0, 0}};
    status.conditions = {{JobPhase::Running, true, Reason::AllReady, at_s(since_s)}};
    status.submitted = at_s(2);
    return status;
  }

  /// The status after the last worker has become ready, at second 10.
  void told_running(const JobStatus& status) {
    start(10);
    fold(10, report(WorkerFact::Ready, 0));
    decided_.notices = {phase(JobPhase::Starting, JobPhase::Running, Reason::AllReady)};
    reader_.told = status;
    fold(10, report(WorkerFact::Ready, 1));
  }

  void expect_clean() { EXPECT_TRUE(found_.empty()) << found_.kept().front().text; }

  void expect_only(ViolationKind kind) {
    ASSERT_EQ(found_.count(), 1U) << (found_.empty() ? "" : found_.kept().back().text);
    EXPECT_EQ(found_.kept().front().kind, kind) << found_.kept().front().text;
  }

  Violations found_;
  DecisionCheck check_;
  OneStatus reader_;
  std::shared_ptr<const JobSpec> spec_;
  Commands decided_;
  Sequence sequence_;
};

TEST_F(DecisionCheckTest, ASoundRunIsClean) {
  told_running(running_status(10));
  expect_clean();
}

TEST_F(DecisionCheckTest, APhaseThatCannotFollow) {
  decided_.notices = {phase(JobPhase::Pending, JobPhase::Running, Reason::AllReady)};
  fold(5, TimeReached{});
  EXPECT_GE(found_.count(), 1U);
}

TEST_F(DecisionCheckTest, RunningBeforeAllAreReady) {
  start(10);
  decided_.notices = {phase(JobPhase::Starting, JobPhase::Running, Reason::AllReady)};
  fold(11, report(WorkerFact::Ready, 0));
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, AStatusWithAnotherNumberOfReadyWorkers) {
  JobStatus status = running_status(10);
  status.ready_replicas = status.roles[0].ready = 1;
  told_running(status);
  expect_only(ViolationKind::StatusWrong);
}

TEST_F(DecisionCheckTest, AStatusWithWorkersOfASilentNode) {
  run(10);
  decided_.notices = {node(1, NodeChange::Silent, false)};
  fold(20, NodeSilent{NodeId{1}});
  decided_.notices = {counted(Counter::NodeLosses, 1)};
  reader_.told = running_status(10);
  reader_.told->node_losses = 1;
  fold(20, TimeReached{});
  expect_only(ViolationKind::StatusWrong);
}

// Storm 770012405. Rank 0 is replaced while both start: who had rank 1 has rank 0 from then on. Its
// agent, which its start has not reached, is told to stop it, and knows it by that order alone: by
// its rank in the generation of the order.
TEST_F(DecisionCheckTest, AReportOfThePresentGenerationNamesThePresentRank) {
  for (const std::int32_t draining : {1, 2}) {
    SCOPED_TRACE(draining);
    check_.begin_again();
    begin();
    start(10);
    WorkerStart stays = starts(1).workers[1];
    stays.rank = Rank{0};
    stays.birth_rank = Rank{1};
    WorkerStart fresh = starts(2).workers[0];
    fresh.rank = Rank{1};
    decided_.notices = {phase(JobPhase::Starting, JobPhase::Rescheduling, Reason::NodeLeaving),
                        phase(JobPhase::Rescheduling, JobPhase::Starting, Reason::NodeLeaving)};
    decided_.orders.emplace_back(UpdateMembership{JobId{0}, Generation{2}, 2, {stays, fresh}});
    decided_.orders.emplace_back(StartWorkers{JobId{0}, Generation{2}, 2, {fresh}});
    fold(12, NodeLeaving{NodeId{0}});
    decided_.notices = {phase(JobPhase::Starting, JobPhase::Rescheduling, Reason::NodeLeaving)};
    decided_.orders.emplace_back(StopWorkers{JobId{0},
                                             Generation{2},
                                             Duration::seconds(5),
                                             {{Rank{0}, NodeId{1}, Incarnation{1}, Rank{1}},
                                              {Rank{1}, NodeId{0}, Incarnation{2}, Rank::none()}}});
    fold(13, NodeLeaving{NodeId{1}});
    WorkersChanged lost = report(WorkerFact::Lost, 0);
    lost.generation = Generation{2};
    decided_.notices = {of_job(NoticeKind::WorkersReported)};
    reader_.told = running_status(13);
    reader_.told->phase = reader_.told->conditions[0].phase = JobPhase::Rescheduling;
    reader_.told->generation = Generation{2};
    reader_.told->ready_replicas = 0;
    reader_.told->roles = {RoleStatus{"worker", 2, 0, 0, draining, 0, 0}};
    fold(14, lost);
    if (draining == 1) expect_clean();
  }
  expect_only(ViolationKind::StatusWrong);
}

TEST_F(DecisionCheckTest, AStatusWithAConditionSinceAnotherTime) {
  told_running(running_status(9));
  expect_only(ViolationKind::StatusWrong);
}

TEST_F(DecisionCheckTest, AStatusOnAnotherNode) {
  JobStatus status = running_status(10);
  status.allocation[1].number = NodeId{2};
  told_running(status);
  expect_only(ViolationKind::StatusWrong);
}

TEST_F(DecisionCheckTest, AFailureThatNobodyReported) {
  JobStatus status = running_status(10);
  FailureStatus failure;
  failure.at = at_s(9);
  failure.role = "worker";
  failure.exit_code = 7;
  failure.message = "worker 0 on node-0 ended with exit code 7";
  status.failures.push_back(failure);
  told_running(status);
  expect_only(ViolationKind::StatusWrong);
}

TEST_F(DecisionCheckTest, AWaitThatEndsEarly) {
  decided_.notices = {phase(JobPhase::Pending, JobPhase::Failed, Reason::WaitDeadline)};
  fold(101, TimeReached{});
  // The job is not known any more, too: the test has no status of it.
  ASSERT_EQ(found_.count(), 2U);
  EXPECT_EQ(found_.kept().front().kind, ViolationKind::DeadlineMissed);
}

TEST_F(DecisionCheckTest, AWaitThatIsOverdue) {
  fold(104, TimeReached{});
  expect_clean();
  fold(105, TimeReached{});
  expect_only(ViolationKind::DeadlineMissed);
}

TEST_F(DecisionCheckTest, AStartThatIsOverdue) {
  start(10);
  fold(42, TimeReached{});
  expect_clean();
  fold(43, TimeReached{});
  expect_only(ViolationKind::DeadlineMissed);
}

TEST_F(DecisionCheckTest, ARestartBeforeItsBackoffIsOver) {
  run(10);
  decided_.notices = {incident(1, Reason::WorkerFailed, true),
                      counted(Counter::Restarts, 1),
                      phase(JobPhase::Running, JobPhase::Restarting, Reason::WorkerFailed)};
  fold(20, report(WorkerFact::Exited, 0, 1));
  expect_clean();
  decided_.notices = {phase(JobPhase::Restarting, JobPhase::Starting, Reason::WorkerFailed)};
  decided_.orders.emplace_back(starts(2));
  fold(23, TimeReached{});
  expect_only(ViolationKind::DeadlineMissed);
}

TEST_F(DecisionCheckTest, AnIncidentThatIsNotCharged) {
  run(10);
  decided_.notices = {incident(1, Reason::WorkerFailed, false)};
  fold(20, report(WorkerFact::Exited, 0, 1));
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, AnIncidentWithoutTheOneBeforeIt) {
  run(10);
  decided_.notices = {incident(2, Reason::WorkerFailed, true)};
  fold(20, report(WorkerFact::Exited, 0, 1));
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, APreemptionWithLessThanItsGrace) {
  run(10);
  decided_.notices = {phase(JobPhase::Running, JobPhase::Rescheduling, Reason::Preempted),
                      counted(Counter::Preemptions, 1)};
  decided_.orders.emplace_back(stops(Duration::seconds(20)));
  fold(20, PlanProposed{});
  expect_clean();
  decided_.notices = {counted(Counter::Preemptions, 2)};
  decided_.orders.emplace_back(stops(Duration::seconds(5)));
  fold(21, PlanProposed{});
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, APreemptionOfOneJobAgainAndAgain) {
  run(10);
  std::int32_t preemptions = 0;
  const auto preempt = [&](std::int64_t second, int times) {
    for (int i = 0; i < times; ++i) {
      decided_.notices = {counted(Counter::Preemptions, ++preemptions)};
      fold(second, PlanProposed{});
    }
  };
  for (std::int64_t second = 20; second < 80; ++second) preempt(second, 2);
  expect_clean();
  preempt(100, 29);
  preempt(111, 29);
  expect_clean();
  preempt(112, 1);
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, AKillBeforeTheGraceIsOver) {
  run(10);
  decided_.orders.emplace_back(stops(Duration::seconds(5)));
  fold(20, PlanProposed{});
  decided_.orders.emplace_back(stops(Duration::zero()));
  fold(34, TimeReached{});
  expect_only(ViolationKind::DeadlineMissed);
}

TEST_F(DecisionCheckTest, AnExclusionAfterTooFewIncidents) {
  decided_.notices = {node(0, NodeChange::Excluded, false), node(0, NodeChange::Silent, false)};
  fold(20, NodeSilent{NodeId{0}});
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, IncidentsOfBeforeAnExclusionCountNoMore) {
  for (const std::int64_t second : {20, 30}) {
    decided_.notices = {node(0, NodeChange::DeviceLost, false)};
    if (second == 30)
      decided_.notices.insert(decided_.notices.begin(), node(0, NodeChange::Excluded, false));
    fold(second, DevicesLost{NodeId{0}, 1});
  }
  fold(31, DevicesLost{NodeId{0}, 0});
  decided_.notices = {node(0, NodeChange::Included, true)};
  fold(80, TimeReached{});
  expect_clean();
  decided_.notices = {node(0, NodeChange::Excluded, false), node(0, NodeChange::DeviceLost, false)};
  fold(85, DevicesLost{NodeId{0}, 1});
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, ANodeThatIsLetInEarly) {
  for (const std::int64_t second : {20, 30}) {
    decided_.notices = {node(0, NodeChange::DeviceLost, false)};
    if (second == 30)
      decided_.notices.insert(decided_.notices.begin(), node(0, NodeChange::Excluded, false));
    fold(second, DevicesLost{NodeId{0}, 1});
  }
  fold(31, DevicesLost{NodeId{0}, 0});
  decided_.notices = {node(0, NodeChange::Included, true)};
  fold(79, TimeReached{});
  expect_only(ViolationKind::DeadlineMissed);
}

TEST_F(DecisionCheckTest, ANodeThatIsToldToBeUsable) {
  decided_.notices = {node(0, NodeChange::Silent, true)};
  fold(20, NodeSilent{NodeId{0}});
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, ASpareThatIsNotGivenBack) {
  decided_.notices = {node(0, NodeChange::Silent, false), node(2, NodeChange::SpareUsed, true)};
  fold(20, NodeSilent{NodeId{0}});
  expect_clean();
  decided_.notices = {node(0, NodeChange::Returned, true)};
  fold(40, NodeReturned{NodeId{0}, {}});
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, AWorkerThatGoesOnOnALostDevice) {
  start(10);
  decided_.notices = {node(0, NodeChange::DeviceLost, false)};
  fold(12, DevicesLost{NodeId{0}, 1});
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, AStartOnASilentNode) {
  decided_.notices = {node(0, NodeChange::Silent, false)};
  fold(5, NodeSilent{NodeId{0}});
  start(10);
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, AReportThatIsIgnoredForAReasonThatIsNotSo) {
  run(10);
  Notice ignored = of_job(NoticeKind::IgnoredReport);
  ignored.ignored = Ignored::JobFinished;
  decided_.notices = {ignored};
  fold(20, report(WorkerFact::Ready, 0));
  expect_only(ViolationKind::DecisionWrong);
}

TEST_F(DecisionCheckTest, ARefusalWithoutAWord) {
  decided_.orders.emplace_back(AnswerRequest{5, JobId{0}, false, ""});
  fold(20, StopRequested{5, JobId{0}});
  expect_only(ViolationKind::StatusWrong);
}

TEST_F(DecisionCheckTest, AJobThatIsForgottenTooEarly) {
  decided_.notices = {phase(JobPhase::Pending, JobPhase::Failed, Reason::StoppedByUser)};
  reader_.told.reset();
  fold(20, StopRequested{5, JobId{0}});
  expect_only(ViolationKind::JobVanished);
}

}  // namespace
}  // namespace orrery::sim
