// What a job says while it waits, and where it is: each resource that binds, by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/control/status.hpp"
#include "tests/support/controller_harness.hpp"

namespace orrery::tests {
namespace {

using testing::HasSubstr;

std::string message_of(const ControllerHarness& h, JobId id) {
  return status_of(h.controller.state(), h.job(id)).message;
}

TEST(WaitingReason, NamesTheDevices) {
  ControllerHarness h({nodes_of(1, 4)});
  h.running(job("first").devices(3), 1);
  EXPECT_EQ(message_of(h, h.submit(job("a").replicas(2))), "needs 2 devices at once, 1 is free");
}

TEST(WaitingReason, NamesPartsOfDevices) {
  ControllerHarness h({nodes_of(1, 1)});
  h.running(job("first").share(700), 1);
  EXPECT_EQ(message_of(h, h.submit(job("a").share(400).replicas(2))),
            "needs 0.8 devices at once, 0.3 are free");
}

TEST(WaitingReason, NamesTheModel) {
  NodeGroup other = nodes_of(1, 4);
  other.device_model = "a100";
  ControllerHarness h({nodes_of(1, 2), other});
  h.running(job("first").devices(2), 1, {on(0, 1)});
  JobBuilder builder = job("a");
  builder.raw().roles[0].bundle.device_model = "h200";
  EXPECT_EQ(message_of(h, h.submit(builder)), "needs 1 h200 device at once, 0 are free");
}

TEST(WaitingReason, NamesCoresAndMemory) {
  ControllerHarness h({nodes_of(1, 4)});
  JobBuilder first = job("first").cpu(40'000);
  first.raw().roles[0].bundle.memory = Bytes{1 << 19};
  h.running(first, 1);
  EXPECT_EQ(message_of(h, h.submit(job("a").cpu(30'000))), "needs 30 cores at once, 24 are free");
  JobBuilder second = job("b").cpu(30'500).replicas(2);
  second.raw().roles[0].bundle.memory = Bytes{1 << 19};
  EXPECT_EQ(message_of(h, h.submit(second)),
            "needs 61 cores at once, 24 are free, and 1 MiB of memory, 512 KiB is free");
}

TEST(WaitingReason, NamesTheRoleThatFindsNoNode) {
  ControllerHarness h({nodes_of(2, 4)});
  h.running(job("left").cpu(40'000), 1, {on(0, 1)});
  h.running(job("right").cpu(40'000), 1, {on(1, 1)});
  EXPECT_EQ(message_of(h, h.submit(job("wide").devices(4))),
            "role worker needs 1 replica with 4 devices, 1 core and 1 byte of memory on one node; "
            "there is room for 0: nodes have devices for 0");
  EXPECT_EQ(message_of(h, h.submit(job("thirsty").cpu(30'000))),
            "role worker needs 1 replica with 1 device, 30 cores and 1 byte of memory on one node; "
            "there is room for 0: nodes have cores beside devices for 0");
}

TEST(WaitingReason, OfWhatCanNeverFitNamesWhatTheNodesHave) {
  ControllerHarness h({nodes_of(2, 4)});
  EXPECT_EQ(message_of(h, h.submit(job("a").replicas(9))),
            "needs 9 devices at once, the declared nodes have 8: more than they can ever give "
            "together");
  EXPECT_EQ(message_of(h, h.submit(job("b").cpu(65'000))),
            "role worker needs 1 replica with 1 device, 65 cores and 1 byte of memory on one node; "
            "the declared nodes can never hold more than 0: nodes have cores beside devices for 0");
}

TEST(WaitingReason, OfRolesThatCanNeverFitTogetherNamesTheirSum) {
  NodeGroup other = nodes_of(1, 4);
  other.device_model = "a100";
  ControllerHarness h({nodes_of(1, 2), other});
  EXPECT_EQ(message_of(h, h.submit(job("a").replicas(4).role("side", 4))),
            "needs 8 devices at once, the declared nodes have 6: more than they can ever give "
            "together");
  JobBuilder models = job("b").replicas(2).role("side", 1).role("rest", 1);
  models.raw().roles[0].bundle.device_model = "h200";
  models.raw().roles[1].bundle.device_model = "h200";
  EXPECT_EQ(message_of(h, h.submit(models)),
            "needs 3 h200 devices at once, the declared nodes have 2: more than they can ever give "
            "together");
  EXPECT_EQ(message_of(h, h.submit(job("c").devices(3).role("other", 1, 3))),
            "its roles find no room side by side on the declared nodes");
}

TEST(WaitingReason, OfPartsThatCanNeverFitNamesWholeDevices) {
  ControllerHarness h({nodes_of(1, 1)});
  EXPECT_EQ(message_of(h, h.submit(job("a").share(700).replicas(2))),
            "needs 1.4 devices at once, the declared nodes have 1: more than they can ever give "
            "together");
}

TEST(WaitingReason, NamesTheMemoryThatANodeLacks) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder half = job("left");
  half.raw().roles[0].bundle.memory = Bytes{1 << 19};
  h.running(half, 1, {on(0, 1)});
  JobBuilder wide = job("a").replicas(2);
  wide.raw().roles[0].bundle.memory = Bytes{3 << 18};
  EXPECT_EQ(message_of(h, h.submit(wide)),
            "role worker needs 2 replicas with 1 device, 1 core and 768 KiB of memory each on one "
            "node; there is room for 1: nodes have memory beside devices for 1");
}

TEST(WaitingReason, NamesTheQuota) {
  ControllerHarness h({nodes_of(1, 4)});
  h.step(QuotasDeclared{{Quota{"group/research", 3}}});
  h.running(job("first").group("research").replicas(2), 2);
  EXPECT_EQ(message_of(h, h.submit(job("a").group("research").replicas(2))),
            "needs 2 devices at once, its quota is used up: group/research may hold 3 devices and "
            "holds 2");
}

// Of a job that no end of another helps, "used up" would say that waiting does.
TEST(WaitingReason, NamesTheQuotaThatNeverHoldsTheJob) {
  ControllerHarness h({nodes_of(1, 4)});
  h.step(QuotasDeclared{{Quota{"group/research", 1}}});
  EXPECT_EQ(message_of(h, h.submit(job("a").group("research").replicas(2))),
            "needs 2 devices at once, more than its quota ever allows: group/research may hold 1 "
            "device");
  h.step(QuotasDeclared{{Quota{"group/research", 2}}});
  h.running(job("first").group("research"), 1);
  EXPECT_EQ(message_of(h, h.submit(job("b").group("research").replicas(2))),
            "needs 2 devices at once, its quota is used up: group/research may hold 2 devices and "
            "holds 1");
}

TEST(WaitingReason, WhereThereIsRoomThePolicyDecides) {
  Settings settings;
  settings.policy = "fifo/1";
  ControllerHarness h({nodes_of(1, 4)}, settings);
  EXPECT_EQ(message_of(h, h.submit(job("a"))),
            "there is room for it; it waits for its turn under policy fifo/1");
}

TEST(WaitingReason, WhereTheNodeHasTooFewPortsTheseAreNamed) {
  ControllerHarness h({nodes_of(2, 4)});
  JobBuilder first = job("first").family(JobFamily::Group).rescale(RescaleMode::Restart);
  first.raw().parallel_workers = 6000;
  h.running(first, 1, {on(0, 1)});
  JobBuilder second = job("second").family(JobFamily::Group).rescale(RescaleMode::Restart);
  second.raw().parallel_workers = 5000;
  EXPECT_EQ(message_of(h, h.submit(second)),
            "needs ports on node 0 for 1 worker, 5001 in a row each; there is room for 0, since "
            "6001 of its 10498 ports are in use");
}

TEST(WaitingReason, RolesMayFindRoomOnlyOneByOne) {
  ControllerHarness h({nodes_of(1, 4)});
  h.running(job("first"), 1);
  const JobId id = h.submit(job("a").devices(2).role("other", 1, 2));
  EXPECT_EQ(message_of(h, id), "needs 4 devices at once, 3 are free");
  ControllerHarness two({nodes_of(2, 4)});
  two.running(job("left"), 1, {on(0, 1)});
  two.running(job("right"), 1, {on(1, 1)});
  const JobId split = two.submit(job("a").replicas(2).devices(2).role("other", 1, 2));
  EXPECT_THAT(message_of(two, split), HasSubstr("not all at once"));
}

TEST(WaitingReason, ThePlaceIsNamedAsThePlacementAndAsEverythingElseCallsIt) {
  NodeGroup group = nodes_of(1, 2);
  group.node_names = {"n0"};
  ControllerHarness h({group});
  const auto pinned = [](const std::string& name) {
    JobBuilder out = job(name);
    RoleSpec& role = out.raw().roles[0];
    role.placements.push_back({1, {}, "1"});
    return out;
  };
  h.running(pinned("first"), 1);
  EXPECT_EQ(
      message_of(h, h.submit(pinned("a"))),
      "role worker waits for device 1 of node 0 (n0); job default.first holds that, or a part "
      "of it");
}

TEST(LimitReached, NamesTheWorkerAndItsNode) {
  NodeGroup group = nodes_of(2, 1);
  group.node_names = {"n0", "n1"};
  ControllerHarness h({group});
  const JobId id = h.running(job("a").replicas(2).limit(0), 2);
  const std::uint32_t rank = h.job(id).workers[0].node == NodeId{1} ? 0 : 1;
  h.fail(id, rank);
  EXPECT_EQ(h.phase(id), JobPhase::Failed);
  EXPECT_EQ(message_of(h, id),
            "the limit backoff_limit is passed: 1 failure, 0 are allowed; the last: worker " +
                std::to_string(rank) + " on n1 ended with exit code 1");
}

TEST(Status, TellsEveryCounterOfItsJob) {
  ControllerHarness h({nodes_of(1, 2)});
  JobState job_state = h.job(h.running(job("a"), 1));
  job_state.row.generation = Generation{9};
  job_state.row.restarts = 1;
  job_state.row.reschedules = 2;
  job_state.row.preemptions = 3;
  job_state.row.node_losses = 4;
  const JobStatus status = status_of(h.controller.state(), job_state);
  EXPECT_EQ(status.name, "default.a");
  EXPECT_EQ(status.phase, JobPhase::Running);
  EXPECT_EQ(status.devices, 1);
  EXPECT_EQ(status.generation, Generation{9});
  EXPECT_EQ(status.restarts, 1u);
  EXPECT_EQ(status.reschedules, 2u);
  EXPECT_EQ(status.preemptions, 3u);
  EXPECT_EQ(status.node_losses, 4u);
}

TEST(Allocation, HasAllRolesByTheNamesOfNodes) {
  NodeGroup group = nodes_of(2, 2);
  group.node_names = {"n0", "n1"};
  ControllerHarness h({group});
  const JobId id = h.running(job("a").replicas(2).role("other", 1), 2, {on(1, 2)});
  const JobStatus status = status_of(h.controller.state(), h.job(id));
  ASSERT_EQ(status.allocation.size(), 2u);
  EXPECT_EQ(status.allocation[0].role, "worker");
  EXPECT_EQ(status.allocation[0].node, "n1");
  EXPECT_EQ(status.allocation[0].replicas, 2);
  EXPECT_EQ(status.allocation[1].role, "other");
  EXPECT_EQ(status.allocation[1].node, "n0");
  EXPECT_EQ(status.allocation[1].number, NodeId{0});
}

TEST(Allocation, IsToldWhereOnlyARoleWithoutDevicesChanges) {
  ControllerHarness h({nodes_of(1, 2)});
  const JobId id = h.running(job("a").role("collector", 1, 0), 1);
  h.forget();
  h.step(ScaleRequested{7, id, RoleIndex{1}, ScaleMode::Set, 3});
  h.settle();
  const auto told = std::count_if(h.notices.begin(), h.notices.end(), [](const Notice& notice) {
    return notice.kind == NoticeKind::Allocated && notice.count == 4 && notice.devices == 1;
  });
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace orrery::tests
