// The engine: one per process, stepped to exact dates, with the ends of communications collected.
// The names of the cases are the traps that they would catch.
#include "sim/simgrid/engine.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace orrery::sim {
namespace {

namespace s4u = simgrid::s4u;
constexpr double kAny = std::numeric_limits<double>::infinity();

// Two hosts on a star, each joined by 100 bytes per second and 1 ms.
struct Pair {
  SimGridEngine engine;
  s4u::NetZone* world = shim::outermost_zone(engine.simgrid(), "world");
  s4u::NetZone* zone = shim::star_zone(world, "cluster");
  s4u::Host* a = join("a");
  s4u::Host* b = join("b");
  s4u::Host* c = join("c");

  Pair() {
    zone->seal();
    world->seal();
  }

  s4u::Host* join(const std::string& name) {
    s4u::Host* host = shim::add_host(zone, name, 1e9);
    for (const bool up : {true, false}) {
      s4u::Link* link = shim::add_link(zone, name + (up ? "_up" : "_down"), 100);
      link->set_latency(1e-3);
      shim::join_star(zone, host, link, up);
    }
    return host;
  }

  s4u::Link* link(const std::string& name) { return engine.simgrid().link_by_name(name); }
};

TEST(SimGridEngine, SecondEngineIsRefused) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        { SimGridEngine first; }
        SimGridEngine second;
      },
      testing::ExitedWithCode(3),
      "SimGrid allows one engine per process");
}

TEST(SimGridEngine, StopsAtTheDateOfACompletion) {
  Pair pair;
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 7);
  pair.engine.run_until(50);
  ASSERT_EQ(pair.engine.ended().size(), 1u);
  EXPECT_EQ(pair.engine.ended()[0].tag, 7u);
  EXPECT_TRUE(pair.engine.ended()[0].whole);
  EXPECT_NEAR(pair.engine.clock(), 10.002, 1e-9);
  pair.engine.ended().clear();
  pair.engine.run_until(50);
  EXPECT_NEAR(pair.engine.clock(), 50, 1e-9);
  EXPECT_TRUE(pair.engine.ended().empty());
}

// SimGrid by itself returns from run_until at an event less than 10 us before the date.
TEST(SimGridEngine, DatesAreReachedThoughSimGridToleratesTenMicroseconds) {
  Pair pair;
  std::vector<SimGridEngine::Started> flows;
  flows.push_back(pair.engine.start(pair.a, pair.b, 1000, kAny, 1));  // Ends at 10.002.
  pair.engine.run_until(10.002004);
  ASSERT_EQ(pair.engine.ended().size(), 1u);
  pair.engine.ended().clear();
  pair.engine.run_until(10.002004);
  EXPECT_NEAR(pair.engine.clock(), 10.002004, 1e-9);
  pair.engine.run_until(10.002005);  // 1 us on.
  EXPECT_NEAR(pair.engine.clock(), 10.002005, 1e-9);
}

TEST(SimGridEngine, NanosecondsSurviveAMillionSeconds) {
  Pair pair;
  pair.engine.run_until(1e6);
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(2e6);
  EXPECT_NEAR(pair.engine.clock(), 1e6 + 10.002, 1e-9);
  pair.engine.ended().clear();
  pair.engine.run_until(1.5e6 + 3e-9);
  EXPECT_NEAR(pair.engine.clock(), 1.5e6 + 3e-9, 1e-9);
}

TEST(SimGridEngine, TwentyMillionSecondsAreNoTrap) {
  Pair pair;
  pair.engine.run_until(2e7);  // Doubles are 4 ns apart here, more than SimGrid's precision.
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(3e7);
  ASSERT_EQ(pair.engine.ended().size(), 1u);
  EXPECT_NEAR(pair.engine.clock(), 2e7 + 10.002, 2e-8);
}

TEST(SimGridEngine, RateCapActsOnHostToHostCommunications) {
  Pair pair;
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, 20, 1);
  pair.engine.run_until(100);
  EXPECT_NEAR(pair.engine.clock(), 50.002, 1e-6);
}

// 3.32 as it is forgets the rate; should that ever change, this tells.
TEST(SimGridEngine, SetRateAloneIsForgottenByOldSimGrid) {
  if (SIMGRID_VERSION >= 33300) GTEST_SKIP() << "only 3.32 is known to forget it";
  Pair pair;
  s4u::CommPtr comm = s4u::Comm::sendto_init();
  comm->set_payload_size(1000)->set_rate(20);
  comm->set_data(reinterpret_cast<void*>(1));
  comm->set_source(pair.a)->set_destination(pair.b);
  pair.engine.run_until(100);
  EXPECT_LT(pair.engine.clock(), 11);
}

TEST(SimGridEngine, WindowDoesNotBoundARateOverALongWay) {
  Pair pair;
  pair.link("a_up")->set_latency(5);
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(100);
  EXPECT_NEAR(pair.engine.clock(), 15.001, 1e-6);
}

// CM02 shares in inverse proportion to latency, which no network of a cluster does. A scenario that
// wants equal parts takes the latency off the links and adds it elsewhere.
TEST(SimGridEngine, LatencyWeighsFlowsUnlessItIsTakenOff) {
  Pair pair;
  pair.link("a_up")->set_latency(3e-3);  // 4 ms from a to c, 2 ms from b to c.
  const auto far = pair.engine.start(pair.a, pair.c, 1000, kAny, 1);
  const auto near = pair.engine.start(pair.b, pair.c, 1000, kAny, 2);
  pair.engine.run_until(1);
  EXPECT_NEAR(far.action->get_rate(), 100 / 3.0, 1e-6);
  EXPECT_NEAR(near.action->get_rate(), 200 / 3.0, 1e-6);
  pair.engine.run_until(100);
  pair.engine.ended().clear();
  pair.engine.run_until(100);
  pair.engine.ended().clear();
  for (simgrid::s4u::Link* link : pair.engine.simgrid().get_all_links()) link->set_latency(0);
  const auto far_too = pair.engine.start(pair.a, pair.c, 1000, kAny, 3);
  const auto near_too = pair.engine.start(pair.b, pair.c, 1000, kAny, 4);
  pair.engine.run_until(pair.engine.clock() + 1);
  EXPECT_NEAR(far_too.action->get_rate(), 50, 1e-6);
  EXPECT_NEAR(near_too.action->get_rate(), 50, 1e-6);
  pair.engine.run_until(200);
}

TEST(SimGridEngine, AWayWithoutLatencyIsNoTrap) {
  Pair pair;
  pair.link("a_up")->set_latency(0);
  pair.link("b_down")->set_latency(0);
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(100);
  ASSERT_EQ(pair.engine.ended().size(), 1u);
  EXPECT_NEAR(pair.engine.clock(), 10, 1e-9);
}

TEST(SimGridEngine, SetBandwidthActsExactly) {
  Pair pair;
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(5.002);          // 500 bytes are through.
  pair.link("a_up")->set_bandwidth(25);  // Bytes per second, not percent.
  pair.engine.run_until(100);
  EXPECT_NEAR(pair.engine.clock(), 25.002, 1e-6);
}

// A flow remembers the bandwidth that its way had when it started, as a bound of its own.
TEST(SimGridEngine, ABandwidthThatRisesNeedsTheBoundRaised) {
  Pair pair;
  pair.link("a_up")->set_bandwidth(25);
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(20.002);  // 500 bytes are through.
  pair.link("a_up")->set_bandwidth(100);
  flow.action->set_bound(100);
  pair.engine.run_until(100);
  EXPECT_NEAR(pair.engine.clock(), 25.002, 1e-6);
}

// SimGrid tells the end of a cancelled activity of the main thread twice.
TEST(SimGridEngine, CallbacksOfACancelledFlowAreNotHeard) {
  int heard = 0;
  Pair pair;
  shim::on_comm_completion([&heard](const s4u::Activity&) { ++heard; });
  auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(5);
  pair.engine.cancel(std::move(flow.comm));
  pair.engine.run_until(50);
  EXPECT_NEAR(pair.engine.clock(), 50, 1e-9);
  EXPECT_TRUE(pair.engine.ended().empty());
  EXPECT_GE(heard, 1);
  EXPECT_LE(heard, 2) << "3.32 tells it twice";
}

// By itself SimGrid lets a cancelled flow hold its share up to the next event.
TEST(SimGridEngine, ACancelledFlowGivesItsShareBackAtOnce) {
  Pair pair;
  auto lost = pair.engine.start(pair.a, pair.c, 1000, kAny, 1);
  const auto other = pair.engine.start(pair.b, pair.c, 1000, kAny, 2);
  pair.engine.run_until(8.002);  // 400 bytes each.
  pair.engine.cancel(std::move(lost.comm));
  pair.engine.run_until(100);
  EXPECT_NEAR(pair.engine.clock(), 14.002, 1e-6);
}

TEST(SimGridEngine, RemainingBytesAreReadableBeforeACancel) {
  Pair pair;
  auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(5.002);
  EXPECT_NEAR(flow.action->get_remains(), 500, 1e-6);
  pair.engine.cancel(std::move(flow.comm));
  pair.engine.run_until(6);
}

// SimGrid itself aborts the process.
TEST(SimGridEngine, NeverStartsToAHostThatIsOff) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        Pair pair;
        pair.b->turn_off();
        (void)pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
      },
      testing::ExitedWithCode(3),
      "between hosts that are on");
}

// SimGrid itself never calls back.
TEST(SimGridEngine, NeverStartsOverALinkThatIsOff) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        Pair pair;
        pair.link("b_down")->turn_off();
        (void)pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
      },
      testing::ExitedWithCode(3),
      "every link on its way is on");
}

TEST(SimGridEngine, ALinkThatFailsEndsItsFlows) {
  Pair pair;
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(5);
  pair.link("b_down")->turn_off();
  pair.engine.run_until(5.001);  // It is told by the step after.
  ASSERT_EQ(pair.engine.ended().size(), 1u);
  EXPECT_FALSE(pair.engine.ended()[0].whole);
}

TEST(SimGridEngine, AHostThatFailsEndsItsFlows) {
  Pair pair;
  const auto flow = pair.engine.start(pair.a, pair.b, 1000, kAny, 1);
  pair.engine.run_until(5);
  pair.b->turn_off();
  pair.engine.run_until(5.001);  // It is told by the step after.
  ASSERT_EQ(pair.engine.ended().size(), 1u);
  EXPECT_FALSE(pair.engine.ended()[0].whole);
}

// The library's own `Host::exec_async` runs on the caller's host, not on the one that is named.
TEST(SimGridEngine, WorkRunsOnTheHostItIsSetTo) {
  Pair pair;
  s4u::ExecPtr work = s4u::Exec::init();
  work->set_flops_amount(2e9);
  work->set_host(pair.b);
  work->start();
  pair.engine.run_until(1);
  EXPECT_EQ(work->get_host(), pair.b);
  EXPECT_NEAR(work->get_remaining(), 1e9, 1);
  pair.engine.run_until(3);
  EXPECT_EQ(work->get_state(), s4u::Activity::State::FINISHED);
}

TEST(SimGridEngine, AHostOfEightCoresKeepsThemOverAFailure) {
  SimGridEngine engine;
  s4u::NetZone* world = shim::outermost_zone(engine.simgrid(), "world");
  s4u::Host* host = shim::add_host(world, "node", 1e9);
  host->set_core_count(8);
  world->seal();
  host->turn_off();
  host->turn_on();
  EXPECT_EQ(host->get_core_count(), 8);
  std::vector<s4u::ExecPtr> work;
  for (int i = 0; i < 8; ++i) {
    work.push_back(s4u::Exec::init());
    work.back()->set_flops_amount(1e9);
    work.back()->set_host(host);
    work.back()->start();
  }
  engine.run_until(1.000001);
  for (const s4u::ExecPtr& part : work)
    EXPECT_EQ(part->get_state(), s4u::Activity::State::FINISHED);
}

// With no live activity SimGrid's plain `run` stops at once.
TEST(SimGridEngine, TimePassesWhileNothingIsUnderWay) {
  Pair pair;
  pair.engine.run_until(1234.5);
  EXPECT_DOUBLE_EQ(pair.engine.clock(), 1234.5);
  pair.engine.run_until(1000);  // The past changes nothing.
  EXPECT_DOUBLE_EQ(pair.engine.clock(), 1234.5);
}

// Exceptions of SimGrid arrive nested; they are caught by their base.
TEST(SimGridEngine, ExceptionsAreCaughtByTheirBase) {
  Pair pair;
  bool caught = false;
  s4u::Actor::create("waiter", pair.a, [&] {
    s4u::CommPtr comm = s4u::Comm::sendto_async(pair.a, pair.b, 1000);
    try {
      comm->wait();
    } catch (const simgrid::Exception&) {
      caught = true;
    }
  });
  pair.engine.run_until(5);
  pair.link("b_down")->turn_off();
  pair.engine.run_until(6);
  EXPECT_TRUE(caught);
}

}  // namespace
}  // namespace orrery::sim
