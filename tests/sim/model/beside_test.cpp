// Two jobs on the same devices in the model world: how fast each is, and when.
#include <gmock/gmock.h>

#include <string>

#include "core/models/device_speeds.hpp"
#include "tests/sim/model/world_harness.hpp"

namespace orrery::tests {
namespace {

using testing::DoubleNear;

constexpr JobId kFirst{0};
constexpr JobId kSecond{1};

scenarios::Scenario one_node(scenarios::Timing timing = {}) {
  scenarios::Scenario scenario;
  scenario.groups = {nodes_of(1, 2)};
  scenario.nodes_per_switch = {0};
  scenario.timing = timing;
  return scenario;
}

sim::ModelJob work_of(const std::string& name, double units, const DeviceSpeeds* speeds = nullptr) {
  JobBuilder builder = job(name);
  builder.raw().profile = name;
  sim::ModelJob out = modelled(builder.spec(), units);
  out.speeds = speeds;
  return out;
}

void start(WorldHarness& world,
           JobId id,
           JobId beside = JobId::none(),
           std::uint64_t devices = 1,
           std::uint32_t number = 1) {
  WorkerStart worker;
  worker.rank = Rank{0};
  worker.role = RoleIndex{0};
  worker.node = NodeId{0};
  worker.incarnation = Incarnation{number};
  worker.devices = devices;
  worker.beside = beside;
  world.issue(StartWorkers{id, Generation{number}, 1, {worker}});
}

DeviceSpeeds table() {
  DeviceSpeeds out;
  out.add("h200", "first", 1, 10);
  out.add("h200", "second", 1, 4);
  out.add("h200", "third", 1, 1);
  out.add_beside("h200", "first", "second", 1, 8, 3);
  out.add_beside("h200", "first", "first", 1, 0, 0);
  return out;
}

TEST(Beside, WithoutMeasurementEachHasHalf) {
  WorldHarness world(one_node(), {work_of("first", 100), work_of("second", 30)});
  world.pass_to(0);
  start(world, kFirst);
  world.pass_to(20);
  EXPECT_THAT(world.done(kFirst), DoubleNear(20, 1e-6));
  start(world, kSecond, kFirst);
  world.pass_to(60);
  EXPECT_THAT(world.done(kFirst), DoubleNear(40, 1e-6));
  EXPECT_THAT(world.done(kSecond), DoubleNear(20, 1e-6));
  world.pass_to(80);
  EXPECT_THAT(world.reported(WorkerFact::Exited), testing::SizeIs(1)) << "the second is done";
  world.pass_to(100);
  EXPECT_THAT(world.done(kFirst), DoubleNear(70, 1e-6)) << "alone again for 20 s";
}

TEST(Beside, OtherDevicesAreNoCompany) {
  WorldHarness world(one_node(), {work_of("first", 100), work_of("second", 100)});
  world.pass_to(0);
  start(world, kFirst);
  start(world, kSecond, JobId::none(), 2);
  world.pass_to(10);
  EXPECT_THAT(world.done(kFirst), DoubleNear(10, 1e-6));
  EXPECT_THAT(world.done(kSecond), DoubleNear(10, 1e-6));
}

TEST(Beside, MeasuredPairsGoAsMeasured) {
  const DeviceSpeeds speeds = table();
  WorldHarness world(one_node(),
                     {work_of("first", 1000, &speeds), work_of("second", 1000, &speeds)});
  world.pass_to(0);
  start(world, kFirst);
  world.pass_to(10);
  start(world, kSecond, kFirst);
  world.pass_to(20);
  EXPECT_THAT(world.done(kFirst), DoubleNear(180, 1e-6));
  EXPECT_THAT(world.done(kSecond), DoubleNear(30, 1e-6));
}

TEST(Beside, WhoRestartsIsBesideTheOtherAgain) {
  const DeviceSpeeds speeds = table();
  for (const JobId restarts : {kFirst, kSecond}) {
    WorldHarness world(one_node(),
                       {work_of("first", 1000, &speeds), work_of("second", 1000, &speeds)});
    world.pass_to(0);
    start(world, kFirst);
    start(world, kSecond, kFirst);
    world.pass_to(10);
    world.issue(StopWorkers{restarts,
                            Generation{1},
                            Duration::seconds(10),
                            {{Rank{0}, NodeId{0}, Incarnation{1}, Rank{0}}}});
    world.pass_to(30);
    start(world, restarts, restarts == kSecond ? kFirst : JobId::none(), 1, 2);
    const double before = world.done(kFirst);
    world.pass_to(40);
    EXPECT_THAT(world.done(kFirst) - before, DoubleNear(80, 1e-6));
  }
}

TEST(Beside, PairsThatWereNotMeasuredHaveHalfEach) {
  const DeviceSpeeds speeds = table();
  WorldHarness world(one_node(),
                     {work_of("first", 1000, &speeds), work_of("third", 1000, &speeds)});
  world.pass_to(0);
  start(world, kFirst);
  start(world, kSecond, kFirst);
  world.pass_to(10);
  EXPECT_THAT(world.done(kFirst), DoubleNear(50, 1e-6));
  EXPECT_THAT(world.done(kSecond), DoubleNear(5, 1e-6));
}

TEST(Beside, WhatDoesNotFitTogetherStands) {
  const DeviceSpeeds speeds = table();
  WorldHarness world(one_node(),
                     {work_of("first", 1000, &speeds), work_of("first", 1000, &speeds)});
  world.pass_to(0);
  start(world, kFirst);
  start(world, kSecond, kFirst);
  world.pass_to(10);
  EXPECT_THAT(world.done(kFirst), DoubleNear(0, 1e-6));
  EXPECT_THAT(world.done(kSecond), DoubleNear(0, 1e-6));
}

}  // namespace
}  // namespace orrery::tests
