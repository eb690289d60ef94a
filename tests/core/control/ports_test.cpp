// Ports of workers: taken with the lease, told with every order, given back with the lease.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "core/cluster/port_ledger.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::ElementsAre;
using testing::Field;

JobBuilder group_of(const std::string& name, std::int32_t parallel_workers) {
  JobBuilder out = job(name).family(JobFamily::Group).rescale(RescaleMode::Restart);
  out.raw().parallel_workers = parallel_workers;
  return out.recovery(RecoveryScope::Job);
}

std::vector<std::int32_t> ports_of_workers(const ControllerHarness& h, JobId id) {
  std::vector<std::int32_t> out;
  for (const Worker& worker : h.job(id).workers) out.push_back(worker.first_port);
  return out;
}

TEST(Ports, WorkersOnOneNodeListenApartAndEveryNodeCountsAnew) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId a = h.submit(group_of("a", 2).replicas(3));
  h.plan(grant(a, 3, {on(0, 2), on(1, 1)}));
  ASSERT_NE(h.order<StartWorkers>(), nullptr);
  // Two ports to listen at, and the master's.
  EXPECT_THAT(h.order<StartWorkers>()->workers,
              ElementsAre(Field(&WorkerStart::first_port, 22270),
                          Field(&WorkerStart::first_port, 22273),
                          Field(&WorkerStart::first_port, 22270)));
  EXPECT_THAT(ports_of_workers(h, a), ElementsAre(22270, 22273, 22270));
  const JobId b = h.running(group_of("b", 1).replicas(1), 1, {on(0, 1)});
  EXPECT_THAT(ports_of_workers(h, b), ElementsAre(22276));
}

TEST(Ports, ThoseOfTheGroupThatDeclaresTheNode) {
  NodeGroup group = nodes_of(1, 4);
  group.ports = {9000, 5};
  ControllerHarness h({group});
  const JobId a = h.running(group_of("a", 1).replicas(2), 2);
  EXPECT_THAT(ports_of_workers(h, a), ElementsAre(9000, 9002));
  const JobId b = h.submit(group_of("b", 1).replicas(1));
  h.plan(grant(b, 1, {on(0, 1)}));
  EXPECT_EQ(h.order<StartWorkers>(), nullptr) << "two are needed, one is left";
}

TEST(Ports, JobsOfWhichNoProcessWillEverRunHaveNone) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.running(job("a").replicas(2), 2);
  EXPECT_THAT(ports_of_workers(h, id), ElementsAre(0, 0));
  EXPECT_EQ(h.controller.state().ledger.ports(), PortLedger{});
}

TEST(Ports, AProgramOfANativeJobCanLeadItsProcessGroup) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2).role("modelled", 1);
  builder.raw().roles[0].command = {"train"};
  EXPECT_THAT(ports_of_workers(h, h.running(builder, 2)), ElementsAre(22270, 22271, 0));
}

// The process of a rank cannot start, since something else listens at a port of its own.
WorkersChanged refused_by_port(ControllerHarness& h, JobId id, std::uint32_t rank, int port) {
  WorkersChanged out = h.cluster.end(h.process(id, rank), WorkerFact::LaunchFailed);
  out.busy_port = port;
  return out;
}

TEST(Ports, OneThatSomethingElseUsesIsExchangedWithoutACharge) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2);
  builder.raw().roles[0].command = {"train"};
  const JobId id = h.submit(builder);
  h.plan(grant(id, 2));
  EXPECT_THAT(ports_of_workers(h, id), ElementsAre(22270, 22271));
  h.make_ready(id, 1);
  h.step(refused_by_port(h, id, 0, 22270));
  EXPECT_EQ(h.job(id).reason, Reason::PortInUse);
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.row(id).restarts, 0u);
  EXPECT_EQ(ports_of_workers(h, id).front(), 22272);
  EXPECT_THAT(h.controller.state().ledger.ports().avoided(NodeId{0}), ElementsAre(22270));
  h.controller.state().ledger.check();
}

TEST(Ports, WhoWasToMeetAtTheOldPortAndCannotBeToldStartsAnew) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(2).rescale(RescaleMode::Auto);
  builder.raw().roles[0].command = {"train"};
  const JobId id = h.submit(builder);
  h.plan(grant(id, 2));
  h.step(h.cluster.runs(h.process(id, 1)));
  h.step(refused_by_port(h, id, 0, 22270));
  h.step(h.cluster.runs(h.process(id, 0)));
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_EQ(h.job(id).workers[1].born, Generation{3});
  EXPECT_EQ(h.row(id).restarts, 0u);
}

TEST(Ports, AHostThatBeginsAnewHasAllOfThemAgain) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a").replicas(1);
  builder.raw().roles[0].command = {"train"};
  const JobId id = h.submit(builder);
  h.plan(grant(id, 1, {on(0, 1)}));
  h.step(refused_by_port(h, id, 0, 22270));
  h.settle();
  h.node_down(0);
  h.node_up(0);
  EXPECT_TRUE(h.controller.state().ledger.ports().avoided(NodeId{0}).empty());
  h.controller.state().ledger.check();
}

TEST(Ports, APortThatIsNotTheWorkersOwnIsAFailureAsAnyOther) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").replicas(1);
  builder.raw().roles[0].command = {"train"};
  const JobId id = h.submit(builder);
  h.plan(grant(id, 1));
  h.step(refused_by_port(h, id, 0, 22300));
  EXPECT_EQ(h.row(id).restarts, 1u);
  EXPECT_THAT(ports_of_workers(h, id), ElementsAre(22270));
}

TEST(Ports, TheyAreHeldUntilTheWorkerIsGone) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId a = h.running(group_of("a", 1).elastic(2, 4), 2);
  h.plan(grant(a, 0));  // Preempted: its devices may be claimed anew.
  const JobId b = h.submit(group_of("b", 1).replicas(4));
  h.plan(grant(b, 4));
  EXPECT_THAT(h.job(b).next,
              ElementsAre(Field(&Worker::first_port, 22274),
                          Field(&Worker::first_port, 22276),
                          Field(&Worker::first_port, 22278),
                          Field(&Worker::first_port, 22280)));
  h.settle();
  EXPECT_EQ(h.phase(b), JobPhase::Running);
  for (std::uint32_t rank = 0; rank < 4; ++rank) h.succeed(b, rank);
  EXPECT_EQ(h.controller.state().ledger.ports().free(NodeId{0}), kPortsPerNode);
  h.plan(grant(a, 2));
  h.settle();
  EXPECT_THAT(ports_of_workers(h, a), ElementsAre(22270, 22272));
}

TEST(Ports, WhoStartsAgainInPlaceListensWhereItDid) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder builder = job("a").family(JobFamily::Tasks).replicas(3);
  const JobId id = h.running(builder, 3);
  EXPECT_THAT(ports_of_workers(h, id), ElementsAre(22270, 22272, 22274));
  h.fail(id, 1);
  h.pass(Duration::seconds(10));
  ASSERT_EQ(h.row(id).generation, Generation{2});
  h.settle();
  EXPECT_EQ(h.phase(id), JobPhase::Running);
  EXPECT_THAT(ports_of_workers(h, id), ElementsAre(22270, 22272, 22274));
}

TEST(Ports, AMembershipTellsThePortsOfThoseWhoStay) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder builder = job("a").family(JobFamily::Tasks).elastic(1, 8);
  const JobId id = h.running(builder, 2, {on(0, 2)});
  h.plan(grant(id, 3, {on(0, 2), on(1, 1)}));
  ASSERT_NE(h.order<UpdateMembership>(), nullptr);
  EXPECT_THAT(h.order<UpdateMembership>()->members,
              ElementsAre(Field(&WorkerStart::first_port, 22270),
                          Field(&WorkerStart::first_port, 22272),
                          Field(&WorkerStart::first_port, 22270)));
  EXPECT_THAT(h.order<StartWorkers>()->workers,
              ElementsAre(Field(&WorkerStart::first_port, 22270)));
}

TEST(Ports, AJobWaitsWhereANodeHasDevicesButNoPortsLeft) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId a = h.running(group_of("a", 6000).replicas(1), 1, {on(0, 1)});
  const JobId b = h.submit(group_of("b", 6000).replicas(1));
  h.plan(grant(b, 1, {on(0, 1)}));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1U);
  EXPECT_EQ(h.phase(b), JobPhase::Pending);
  h.succeed(a, 0);
  h.plan(grant(b, 1, {on(0, 1)}));
  h.settle();
  EXPECT_EQ(h.phase(b), JobPhase::Running);
  EXPECT_THAT(ports_of_workers(h, b), ElementsAre(22270));
}

TEST(Ports, WhoWaitedForThemIsPlannedForWhenTheyAreGivenBack) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId a = h.running(group_of("a", 6000).replicas(1), 1);
  h.step(StopRequested{1, a});
  const JobId b = h.submit(group_of("b", 6000).replicas(1));
  h.plan(grant(b, 1));  // The devices of a are free already, its ports are not.
  ASSERT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1U);
  while (h.controller.take_plan_request()) {
  }
  h.settle();
  EXPECT_EQ(h.controller.state().ledger.ports().free(NodeId{0}), kPortsPerNode);
  EXPECT_TRUE(h.controller.take_plan_request().has_value());
}

TEST(Ports, AWorkerWithoutPortsGivesNoneBack) {
  ControllerHarness h({nodes_of(1, 4)});
  h.running(group_of("a", 6000).replicas(1), 1);
  const JobId without = h.running(job("without").replicas(1), 1);
  h.step(StopRequested{1, without});
  const JobId b = h.submit(group_of("b", 6000).replicas(1));
  h.plan(grant(b, 1));
  ASSERT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1U);
  while (h.controller.take_plan_request()) {
  }
  h.settle();
  EXPECT_FALSE(h.controller.take_plan_request().has_value())
      << "its devices were planned with when it was told to stop";
}

TEST(Ports, TwoWorkersThatFitEachByItselfMayNotFitTogether) {
  ControllerHarness h({nodes_of(1, 4)});
  const JobId id = h.submit(group_of("a", 6000).replicas(2));
  h.plan(grant(id, 2));
  EXPECT_EQ(h.grants_dropped(Ignored::DoesNotFit), 1U);
  EXPECT_EQ(h.phase(id), JobPhase::Pending);
  EXPECT_EQ(h.controller.state().ledger.ports().free(NodeId{0}), kPortsPerNode);
}

TEST(Ports, ASnapshotKeepsThem) {
  ControllerHarness h({nodes_of(2, 4)});
  const JobId id = h.running(group_of("a", 3).replicas(4), 4);
  ByteWriter out;
  h.controller.state().save(out);
  Controller again;
  ByteReader in{std::span<const std::byte>(out.bytes())};
  ASSERT_TRUE(again.load(in, kRecordVersion));
  EXPECT_EQ(again.digest(), h.controller.digest());
  again.state().ledger.check();
  EXPECT_EQ(again.state().ledger.ports(), h.controller.state().ledger.ports());
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(again.state().job(id).workers[i].first_port, h.job(id).workers[i].first_port);
}

}  // namespace
}  // namespace orrery::tests
