// The rules on states, orders and plans, each with what it must see: a sound record is spoilt in
// one place at a time.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/storm/blame_check.hpp"
#include "sim/storm/budget_check.hpp"
#include "sim/storm/cluster_audit.hpp"
#include "sim/storm/order_check.hpp"
#include "sim/storm/plan_check.hpp"
#include "sim/storm/recovery_check.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::sim {
namespace {

using tests::ControllerHarness;
using tests::JobBuilder;

std::vector<NodeGroup> two_nodes() {
  return {NodeGroup{"main", 2, MilliCpu{16'000}, Bytes{1 << 30}, 4, "gpu", 0, 0}};
}

/// A job of two workers that runs on four devices beside one that waits, spoilt by `spoil`.
class SpoiltState : public ::testing::Test {
 protected:
  SpoiltState() : world_(two_nodes()) {
    runs_ = world_.running(JobBuilder("runs").elastic(1, 4).devices(2), 2);
    waits_ = world_.submit(JobBuilder("waits").devices(4));
  }

  std::vector<std::string> wrong(const std::function<void(State&)>& spoil) const {
    State state = world_.controller.state();
    spoil(state);
    return false_in_cluster(state);
  }

  void expect(const std::string& part, const std::function<void(State&)>& spoil) const {
    const std::vector<std::string> found = wrong(spoil);
    EXPECT_TRUE(
        std::any_of(found.begin(),
                    found.end(),
                    [&](const std::string& text) { return text.find(part) != std::string::npos; }))
        << part << " in " << testing::PrintToString(found);
  }

  ControllerHarness world_;
  JobId runs_;
  JobId waits_;
};

TEST_F(SpoiltState, ASoundOneIsLetPass) {
  EXPECT_EQ(wrong([](State&) {}), std::vector<std::string>{});
}

TEST_F(SpoiltState, WhatFollowsFromWorkersIsMadeAnew) {
  expect("number of ready workers", [&](State& s) { ++s.job(runs_).ready; });
  expect("number of draining workers", [&](State& s) { ++s.job(runs_).draining; });
  expect("places that it waits for", [&](State& s) { ++s.job(runs_).blocked; });
  expect("numbered through", [&](State& s) { s.job(runs_).workers[1].local_rank = 0; });
  expect("replicas is 3", [&](State& s) { ++s.job(runs_).row.replicas; });
  expect("number of its nodes", [&](State& s) { s.job(runs_).elastic_nodes.clear(); });
  expect("replicas on a node", [&](State& s) { ++s.job(runs_).elastic_nodes[0].replicas; });
  expect("a living worker has no lease",
         [&](State& s) { s.job(runs_).workers[0].lease = LeaseId::none(); });
}

TEST_F(SpoiltState, WhatFollowsFromLeasesAndNodesIsMadeAnew) {
  expect("usable is", [&](State& s) { s.ledger.set_usable(NodeId{0}, false); });
  expect("usable is", [&](State& s) { s.nodes[1].silent = true; });
  expect("a lease of something else", [&](State& s) { s.job(runs_).workers[0].devices = 1; });
  expect("is no worker's", [&](State& s) {
    const Demand demand = s.job(waits_).row.demand;
    (void)s.ledger.claim(waits_, NodeId{1}, demand, s.ledger.devices_of(NodeId{1}, demand).whole);
  });
  expect("keeps more incidents", [&](State& s) { s.nodes[0].incidents.push_back(s.now); });
  expect("stand in", [&](State& s) { s.stand_ins.push_back(NodeId{1}); });
  expect("a spare of its group stands by", [&](State& s) {
    s.nodes[0].silent = true;
    s.nodes[1].spare = true;
  });
}

TEST_F(SpoiltState, SetsAndSumsAreMadeAnew) {
  expect("preemptible jobs", [&](State& s) { ++s.preemptible_holding; });
  expect("want more", [&](State& s) { s.wants_more.push_back(runs_); });
  expect("devices held", [&](State& s) { ++s.job(runs_).row.devices_held; });
  expect("the queue is not", [&](State& s) { s.dequeue(s.job(waits_)); });
  expect("least number", [&](State& s) { ++s.job(runs_).row.min_replicas; });
  expect("largest number", [&](State& s) { --s.job(runs_).row.max_replicas; });
  expect("holds 4, 3 are allowed", [&](State& s) {
    s.quotas.push_back({{"namespace/default", 3}, 4});
    s.job(runs_).row.quota_namespace = s.job(waits_).row.quota_namespace = 0;
  });
}

TEST_F(SpoiltState, WhoStartsIsWhereItWasStarted) {
  expect("in another place than it was started in", [&](State& s) {
    s.job(runs_).workers[1].state = WorkerState::Starting;
    s.job(runs_).workers[1].birth_rank = Rank{0};
  });
}

TEST_F(SpoiltState, TimersFollowFromThePhase) {
  expect("timer drain is set",
         [&](State& s) { s.set_timer(s.job(runs_), TimerKind::Drain, s.now + Duration{1}); });
  expect("timer contact is set",
         [&](State& s) { s.set_timer(s.job(runs_), TimerKind::Contact, s.now + Duration{1}); });
  expect("run_deadline",
         [&](State& s) { s.set_timer(s.job(runs_), TimerKind::Run, s.now + Duration{1}); });
  expect("wait_deadline",
         [&](State& s) { s.set_timer(s.job(waits_), TimerKind::Wait, s.now + Duration{1}); });
}

/// One record of a sound controller, spoilt by `spoil` before the check hears it.
class SpoiltRecord : public ::testing::Test {
 protected:
  SpoiltRecord() {
    Commands out;
    step(EpochStarted{Epoch{1}, {}}, out);
    step(NodesDeclared{two_nodes()}, out);
  }

  void step(EventBody body, Commands& out, const std::function<void(Commands&)>& spoil = {}) {
    const Event event{now_, happened_.value_or(now_), Origin::External, std::move(body)};
    orders_.comes(event, controller_.state());
    recoveries_.comes(event, controller_.state());
    blames_.comes(event, controller_.state());
    plans_.comes(event, controller_.state());
    out.clear();
    controller_.step(event, out);
    if (spoil) spoil(out);
    const FoldedRecord record{controller_.state().sequence, event, out};
    orders_.folded(now_, record, controller_.state());
    recoveries_.folded(now_, record, controller_.state());
    blames_.folded(now_, record, controller_.state());
    budgets_.folded(now_, record, controller_.state());
    plans_.folded(now_, record, controller_.state());
  }

  void step(EventBody body, const std::function<void(Commands&)>& spoil = {}) {
    Commands out;
    step(std::move(body), out, spoil);
  }

  void submit(std::uint64_t request,
              const JobBuilder& job,
              const std::function<void(Commands&)>& spoil = {}) {
    step(JobSubmitted{request, std::make_shared<JobSpec>(job.spec())}, spoil);
  }

  void grant(std::uint32_t job,
             std::int32_t replicas,
             const std::function<void(Commands&)>& spoil = {}) {
    Plan plan;
    plan.grant(JobId{job}, replicas);
    step(PlanProposed{{}, PlanTrigger::Period, {}, plan}, spoil);
  }

  void ready(std::uint32_t job, std::uint32_t ranks) {
    step(WorkersChanged{
        JobId{job}, Generation{1}, Incarnation{1}, WorkerFact::Ready, Rank{0}, ranks});
  }

  template <class Order>
  static Order& of(Commands& out) {
    for (CommandBody& body : out.orders)
      if (auto* order = std::get_if<Order>(&body)) return *order;
    ADD_FAILURE() << "no such order";
    static Order none;
    return none;
  }

  void expect(const std::string& part) {
    ASSERT_FALSE(found_.empty()) << part;
    EXPECT_NE(found_.kept().front().text.find(part), std::string::npos)
        << found_.kept().front().text;
  }

  Controller controller_;
  Violations found_;
  OrderCheck orders_{found_};
  RecoveryCheck recoveries_{found_};
  BlameCheck blames_{found_};
  BudgetCheck budgets_{found_};
  PlanCheck plans_{found_};
  Instant now_;
  std::optional<Instant> happened_;  ///< What is told next; none: as it is told.
};

TEST_F(SpoiltRecord, SoundOnesAreLetPass) {
  submit(7, JobBuilder("a").elastic(1, 4));
  submit(7, JobBuilder("a").elastic(1, 4));
  submit(8, JobBuilder("a"));
  grant(0, 2);
  ready(0, 2);
  grant(0, 3);
  step(ScaleRequested{9, JobId{0}, RoleIndex{0}, ScaleMode::Set, 9});
  step(ScaleRequested{9, JobId{5}, RoleIndex{0}, ScaleMode::Set, 1});
  step(StopRequested{10, JobId{0}});
  step(StopRequested{11, JobId{0}});
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
}

TEST_F(SpoiltRecord, ARequestIsAnsweredOnce) {
  submit(7, JobBuilder("a"), [](Commands& out) {
    std::erase_if(out.orders, [](auto&) { return true; });
  });
  expect("has 0 answers");
}

TEST_F(SpoiltRecord, ARequestIsAnsweredUnderItsOwnNumber) {
  submit(7, JobBuilder("a"), [](Commands& out) { of<AnswerRequest>(out).request = 8; });
  expect("is for request 8");
}

TEST_F(SpoiltRecord, WhatMayBeDoneIsNotRefused) {
  submit(7, JobBuilder("a"), [](Commands& out) {
    of<AnswerRequest>(out).accepted = false;
    of<AnswerRequest>(out).message = "no";
  });
  expect("which what was so before does not allow");
}

TEST_F(SpoiltRecord, ARefusalSaysWhy) {
  submit(7, JobBuilder("a").elastic(1, 4));
  step(ScaleRequested{9, JobId{0}, RoleIndex{0}, ScaleMode::Set, 9}, [](Commands& out) {
    of<AnswerRequest>(out).message = "role worker would have 9 replicas, 1 to 9 are allowed";
  });
  expect("which does not say");
}

TEST_F(SpoiltRecord, AStartThatIsKnownWasOrdered) {
  submit(7, JobBuilder("a").elastic(1, 4));
  grant(0, 2, [](Commands& out) { of<StartWorkers>(out).workers.pop_back(); });
  expect("its start was not ordered");
}

TEST_F(SpoiltRecord, AStartIsOrderedAsItIsKnown) {
  submit(7, JobBuilder("a").elastic(1, 4));
  grant(0, 2, [](Commands& out) { of<StartWorkers>(out).workers[0].devices ^= 12; });
  expect("otherwise than its worker is known");
}

TEST_F(SpoiltRecord, AStopThatIsKnownWasOrdered) {
  submit(7, JobBuilder("a").elastic(1, 4));
  grant(0, 2);
  ready(0, 2);
  step(StopRequested{8, JobId{0}}, [](Commands& out) { of<StopWorkers>(out).workers.pop_back(); });
  expect("was not told to");
}

TEST_F(SpoiltRecord, WhoStaysIsToldOfAMembership) {
  submit(7, JobBuilder("a").elastic(1, 4));
  grant(0, 2);
  ready(0, 2);
  grant(0, 3, [](Commands& out) {
    std::erase_if(out.orders, [](const CommandBody& body) {
      return std::holds_alternative<UpdateMembership>(body);
    });
  });
  expect("those who stay are not told");
}

TEST_F(SpoiltRecord, AJobThatHasEndedIsCleanedUpOnce) {
  submit(7, JobBuilder("a").elastic(1, 4));
  grant(0, 2);
  step(StopRequested{8, JobId{0}}, [](Commands& out) {
    std::erase_if(out.orders,
                  [](const CommandBody& body) { return std::holds_alternative<CleanJob>(body); });
  });
  expect("cleaned up 0 times");
}

TEST_F(SpoiltRecord, ANodeIsToldToStopWhatItShouldNotRun) {
  const RunningWorker stray{JobId{3}, Generation{1}, Incarnation{1}, Rank{0}};
  step(NodeReturned{NodeId{0}, {stray}, Sequence{1}}, [](Commands& out) { out.orders.clear(); });
  expect("is not told to stop it");
}

/// Spoils the incident that a record opens.
std::function<void(Commands&)> incident(const std::function<void(Notice&)>& spoil) {
  return [spoil](Commands& out) {
    for (Notice& notice : out.notices)
      if (notice.kind == NoticeKind::IncidentOpened) spoil(notice);
  };
}

TEST_F(SpoiltRecord, AFailureIsChargedToTheOneThatItsWorkerBlames) {
  const std::vector<Diagnosis> said{{},
                                    {Blame::Mine, {}, 0, ""},
                                    {Blame::Node, {}, 0, ""},
                                    {Blame::Peer, RoleIndex{0}, 1, ""},
                                    {Blame::Peer, RoleIndex{0}, 0, ""}};
  for (std::uint32_t id = 0; id < said.size(); ++id) {
    submit(7 + id, JobBuilder("a" + std::to_string(id)).replicas(2).devices(0));
    grant(id, 2);
    ready(id, 2);
    WorkersChanged report{
        JobId{id}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 1};
    report.diagnosis = said[id];
    step(report);
    EXPECT_TRUE(found_.empty()) << id << ": " << found_.kept().front().text;
  }
}

TEST_F(SpoiltRecord, AWorkerThatBlamesItsNodeIsNotChargedItself) {
  submit(7, JobBuilder("a").replicas(2));
  grant(0, 2);
  ready(0, 2);
  WorkersChanged report{JobId{0}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 1};
  report.diagnosis = Diagnosis{Blame::Node, {}, 0, ""};
  step(report, incident([](Notice& notice) {
         notice.reason = Reason::WorkerFailed;
         notice.local_rank = 0;
       }));
  expect("its node was blamed for a failure, the job is charged");
}

TEST_F(SpoiltRecord, TheRootIsTheWorkerThatIsBlamed) {
  submit(7, JobBuilder("a").replicas(2));
  grant(0, 2);
  ready(0, 2);
  WorkersChanged report{JobId{0}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 1};
  report.diagnosis = Diagnosis{Blame::Peer, RoleIndex{0}, 1, ""};
  step(report, incident([](Notice& notice) { notice.local_rank = 0; }));
  expect("another worker than the one to blame is the root");
}

TEST_F(SpoiltRecord, ALimitEndsAJobThatHasUsedItsBudget) {
  for (const bool spoilt : {false, true}) {
    const std::uint32_t id = spoilt ? 1 : 0;
    JobBuilder builder("a" + std::to_string(id));
    builder.preemptible().raw().failover.edit().preemptions_max = 1;
    submit(7 + id, builder);
    const auto run = [&](std::uint32_t start) {
      grant(id, 1);
      step(WorkersChanged{
          JobId{id}, Generation{start}, Incarnation{start}, WorkerFact::Ready, Rank{0}, 1});
    };
    run(1);
    grant(id, 0, [&](Commands& out) {
      if (spoilt)
        std::erase_if(out.notices, [](auto& notice) { return notice.kind == NoticeKind::Counted; });
    });
    step(WorkersChanged{
        JobId{id}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 143});
    run(2);
    ASSERT_TRUE(found_.empty()) << found_.kept().front().text;
    grant(id, 0);
    ASSERT_NE(found_.empty(), spoilt);
  }
  expect("preemptions_max of 1 with 2 used, by its notices it has used 1");
}

TEST_F(SpoiltRecord, ALostDeviceIsALossOfThoseWhoHaveIt) {
  submit(7, JobBuilder("a"));
  grant(0, 1);
  ready(0, 1);
  const NodeId held = controller_.state().job(JobId{0}).workers[0].node;
  const NodeId other{1 - held.value};
  const auto open_incident = [](Commands& out) {
    Notice notice;
    notice.kind = NoticeKind::IncidentOpened;
    notice.job = JobId{0};
    notice.reason = Reason::DeviceLost;
    out.notices.push_back(notice);
  };
  step(DevicesLost{held, 15});
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
  step(DevicesLost{other, 15}, open_incident);
  expect("on which it has no worker");
}

TEST_F(SpoiltRecord, ASilentNodeIsALossOfThoseWhoHaveSomethingThere) {
  submit(7, JobBuilder("a"));
  grant(0, 1);
  ready(0, 1);
  const NodeId held = controller_.state().job(JobId{0}).workers[0].node;
  step(NodeSilent{NodeId{1 - held.value}}, [](Commands& out) {
    Notice notice;
    notice.kind = NoticeKind::IncidentOpened;
    notice.job = JobId{0};
    notice.reason = Reason::NodeLost;
    out.notices.push_back(notice);
  });
  expect("on which it has nothing");
}

TEST_F(SpoiltRecord, AnIncidentIsKnownSinceItHappened) {
  submit(7, JobBuilder("a"));
  grant(0, 1);
  ready(0, 1);
  now_ = now_ + Duration::seconds(5);
  happened_ = now_ - Duration::seconds(2);
  step(WorkersChanged{JobId{0}, Generation{1}, Incarnation{1}, WorkerFact::Exited, Rank{0}, 1, 1});
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
  // The incident that the state has is of another time than the record that is told to open it.
  happened_ = now_;
  step(StopRequested{9, JobId{7}}, [](Commands& out) {
    Notice notice;
    notice.kind = NoticeKind::IncidentOpened;
    notice.job = JobId{0};
    notice.incident = 1;
    out.notices.push_back(notice);
  });
  expect("known since another time than it happened");
}

TEST_F(SpoiltRecord, APlanComesBehindTheTimersOfItsInstant) {
  JobSpec spec = JobBuilder("a").elastic(1, 4).spec();
  spec.wait_deadline = Duration::seconds(30);
  step(JobSubmitted{7, std::make_shared<JobSpec>(spec)});
  now_ = now_ + Duration::seconds(29);
  grant(0, 0);
  EXPECT_TRUE(found_.empty()) << found_.kept().front().text;
  now_ = now_ + Duration::seconds(1);
  grant(0, 0);
  expect("before a timer of job 0 that is due");
}

TEST_F(SpoiltRecord, AGrantIsDroppedForAReasonThatIsSo) {
  submit(7, JobBuilder("a").elastic(1, 4));
  grant(0, 0, [](Commands& out) {
    for (Notice& notice : out.notices)
      if (notice.kind == NoticeKind::GrantDropped) notice.ignored = Ignored::FixedJob;
  });
  expect("is dropped as FixedJob");
}

TEST_F(SpoiltRecord, TheFirstGrantIsNotWithheld) {
  submit(7, JobBuilder("a").elastic(1, 4));
  grant(0, 2, [](Commands& out) {
    Notice notice;
    notice.kind = NoticeKind::GrantDropped;
    notice.job = JobId{0};
    notice.ignored = Ignored::DoesNotFit;
    out.notices.push_back(notice);
  });
  expect("there is room for it");
}

}  // namespace
}  // namespace orrery::sim
