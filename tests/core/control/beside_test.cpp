// Two jobs on the same devices: a plan puts one beside the other, and what becomes of them.
#include "core/membership/beside.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/control/state_view.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;

Plan beside(JobId id, std::int32_t replicas, JobId host) {
  Plan plan;
  plan.grant_beside(id, replicas, host);
  return plan;
}

std::vector<std::uint64_t> devices_of(const JobState& job) {
  std::vector<std::uint64_t> out;
  for (const Worker& w : job.workers) out.push_back(w.devices);
  return out;
}

/// One node of four devices, and gangs that may be moved.
struct Besides : ControllerHarness {
  Besides() : ControllerHarness({nodes_of(1, 4)}) {}

  JobId gang(const std::string& name, std::int32_t replicas = 2) {
    return submit(tests::job(name).replicas(replicas).preemptible());
  }

  JobId running_gang(const std::string& name, std::int32_t replicas = 2) {
    const JobId id = gang(name, replicas);
    do_plan(grant(id, replicas));
    return id;
  }

  void do_plan(const Plan& p) {
    plan(p);
    settle();
    check();
  }

  void check() const { controller.state().ledger.check(); }

  JobId partner(JobId id) const { return partner_of(controller.state(), job_of(id)); }

  const JobState& job_of(JobId id) const { return controller.state().job(id); }

  std::int32_t free_devices() const {
    return controller.state().ledger.free().at(NodeId{0}).devices;
  }
};

TEST(Beside, TwoJobsHaveTheSameDevicesAndCountOnce) {
  Besides h;
  const JobId a = h.running_gang("a");
  const JobId b = h.gang("b");
  h.do_plan(beside(b, 2, a));
  EXPECT_EQ(h.phase(b), JobPhase::Running);
  EXPECT_EQ(devices_of(h.job_of(a)), devices_of(h.job_of(b)));
  EXPECT_EQ(h.partner(a), b);
  EXPECT_EQ(h.partner(b), a);
  EXPECT_EQ(h.free_devices(), 2);
  EXPECT_EQ(h.row(b).devices_held, 2) << "of its quota as if they were its own";
}

TEST(Beside, BothCanStartWithOnePlan) {
  Besides h;
  const JobId a = h.gang("a");
  const JobId b = h.gang("b");
  h.do_plan(grant(a, 2) + beside(b, 2, a));
  EXPECT_EQ(h.phase(a), JobPhase::Running);
  EXPECT_EQ(h.phase(b), JobPhase::Running);
  EXPECT_EQ(h.partner(a), b);
}

TEST(Beside, AThirdDoesNotFit) {
  Besides h;
  const JobId a = h.running_gang("a");
  const JobId b = h.gang("b");
  const JobId c = h.gang("c");
  h.do_plan(beside(b, 2, a));
  h.do_plan(beside(c, 2, a));
  h.do_plan(beside(c, 2, b));
  EXPECT_EQ(h.phase(c), JobPhase::Pending);
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 2u);
}

TEST(Beside, OnlyEqualGangsOfWholeDevicesShare) {
  Besides h;
  const JobId a = h.running_gang("a");
  const JobId fewer = h.gang("fewer", 1);
  const JobId parts = h.submit(job("parts").replicas(2).share(500).preemptible());
  const JobId waits = h.gang("waits");
  const JobId b = h.gang("b");
  h.do_plan(beside(fewer, 1, a));
  h.do_plan(beside(parts, 2, a));
  h.do_plan(beside(b, 2, waits));
  h.do_plan(beside(b, 2, b));
  for (const JobId id : {fewer, parts, b}) EXPECT_EQ(h.phase(id), JobPhase::Pending);
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 4u);
}

// Else a plan that names nodes for one of them would have it leave the other, with all its roles.
TEST(Beside, PartsOfADeviceNextToTwoPartnersMakeNoPartners) {
  Besides h;
  const JobId a = h.running_gang("a");
  const JobId b = h.gang("b");
  h.do_plan(beside(b, 2, a));
  const auto part = [&](const std::string& name) {
    return h.submit(job(name).replicas(1).share(400).preemptible());
  };
  const JobId c = part("c");
  const JobId d = part("d");
  h.do_plan(grant(c, 1) + grant(d, 1));
  ASSERT_EQ(devices_of(h.job_of(c)), devices_of(h.job_of(d)));
  EXPECT_TRUE(h.partner(c).is_none());
  EXPECT_TRUE(h.partner(d).is_none());
}

TEST(Beside, WhoStaysHasTheDevicesAlone) {
  for (const bool host_goes : {true, false}) {
    Besides h;
    const JobId a = h.running_gang("a");
    const JobId b = h.gang("b");
    h.do_plan(beside(b, 2, a));
    Plan plan;
    plan.preempt(host_goes ? a : b);
    h.do_plan(plan);
    const JobId stays = host_goes ? b : a;
    EXPECT_EQ(h.phase(stays), JobPhase::Running);
    EXPECT_TRUE(h.partner(stays).is_none());
    EXPECT_EQ(h.free_devices(), 2) << "they do not come free";
    const JobId c = h.gang("c");
    h.do_plan(beside(c, 2, stays));
    EXPECT_EQ(h.partner(c), stays);
  }
}

TEST(Beside, ASuccessorWaitsForThePartnerBefore) {
  Besides h;
  const JobId a = h.running_gang("a");
  const JobId b = h.gang("b");
  h.do_plan(beside(b, 2, a));
  const JobId c = h.gang("c");
  Plan plan;
  plan.preempt(a);
  h.plan(plan + beside(c, 2, b));
  EXPECT_EQ(h.processes_of(c), 0u) << "the devices have two users until the first has gone";
  h.check();
  h.settle();
  h.check();
  EXPECT_EQ(h.phase(a), JobPhase::Pending);
  EXPECT_EQ(h.phase(c), JobPhase::Running);
  EXPECT_EQ(h.partner(c), b);
}

TEST(Beside, ANamedNodeMeansDevicesOfItsOwn) {
  Besides h;
  const JobId a = h.running_gang("a");
  const JobId b = h.gang("b");
  h.do_plan(beside(b, 2, a));
  h.do_plan(grant(b, 2));
  EXPECT_EQ(h.partner(a), b) << "no place is named";
  h.do_plan(grant(b, 2, {on(0, 2)}));
  EXPECT_TRUE(h.partner(a).is_none());
  EXPECT_EQ(h.phase(b), JobPhase::Running);
  EXPECT_EQ(h.free_devices(), 0);
}

TEST(Beside, APairMovesTogether) {
  ControllerHarness h({nodes_of(2, 2)});
  const JobId a = h.submit(job("a").replicas(2).preemptible());
  const JobId b = h.submit(job("b").replicas(2).preemptible());
  h.plan(grant(a, 2, {on(0, 2)}) + grant(b, 2, {on(1, 2)}));
  h.settle();
  h.plan(beside(b, 2, a));
  h.settle();
  EXPECT_THAT(h.job(b).elastic_nodes, ElementsAre(on(0, 2)));
  h.plan(grant(a, 2, {on(1, 2)}) + beside(b, 2, a));
  h.settle();
  h.controller.state().ledger.check();
  EXPECT_THAT(h.job(a).elastic_nodes, ElementsAre(on(1, 2)));
  EXPECT_THAT(h.job(b).elastic_nodes, ElementsAre(on(1, 2)));
  EXPECT_EQ(partner_of(h.controller.state(), h.job(a)), b);
}

TEST(Beside, AWorkerThatFailsStartsAgainBesideTheOther) {
  Besides h;
  const JobId a = h.running_gang("a");
  const JobId b = h.gang("b");
  h.do_plan(beside(b, 2, a));
  for (const JobId id : {a, b}) {
    h.fail(id, 0);
    h.pass(Duration::seconds(3600));
    h.settle();
    h.check();
    EXPECT_EQ(h.phase(id), JobPhase::Running);
    EXPECT_EQ(h.partner(a), b);
  }
}

TEST(Beside, PoliciesGiveBackOnlyWhatComesFree) {
  Besides h;
  const JobId a = h.running_gang("a");
  const JobId b = h.gang("b");
  h.do_plan(beside(b, 2, a));
  const StateView view(h.controller.state(), {}, false);
  CapacityTrial trial;
  trial.sync(view.capacity());
  give_back(view, view.job(a), trial);
  EXPECT_EQ(trial.index().at(NodeId{0}).devices, 2);
  EXPECT_EQ(trial.index().at(NodeId{0}).cpu, MilliCpu{62000});
}

}  // namespace
}  // namespace orrery::tests
