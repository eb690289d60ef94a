// Bounds that finish within seconds: nothing breaks in them, and they are whole.
#include "sim/explore/explorer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>

#include "policies/fifo.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::sim {

// For the names of failing parameters.
void PrintTo(const ExploreBounds& bounds, std::ostream* out) {
  *out << bounds.nodes << " nodes, " << bounds.leaders << " leaders, " << bounds.jobs << " jobs of "
       << bounds.workers << " workers, " << bounds.seconds << " s, " << bounds.losses << " losses, "
       << bounds.crashes << " crashes";
}

}  // namespace orrery::sim

namespace orrery::tests {
namespace {

using sim::ExploreBounds;
using sim::ExploreReport;

std::unique_ptr<Policy> fifo() { return std::make_unique<policies::Fifo>(); }

// Everything in every order, where nothing else is said.
ExploreBounds small(std::uint32_t seconds) {
  ExploreBounds bounds;
  bounds.nodes = 1;
  bounds.seconds = seconds;
  return bounds;
}

ExploreBounds with_delays(std::uint32_t seconds, std::uint32_t delays) {
  ExploreBounds bounds;
  bounds.seconds = seconds;
  bounds.delays = delays;
  return bounds;
}

class WholeWorld : public ::testing::TestWithParam<ExploreBounds> {};

TEST_P(WholeWorld, HoldsInEveryState) {
  const ExploreReport report = explore(GetParam(), fifo);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.whole_depth, report.depth + 1) << "the last states are gone on from too";
  EXPECT_GT(report.states, 100U);
  ASSERT_FALSE(report.counterexample) << report.counterexample->violation.text;
}

ExploreBounds a_loss_and_a_crash() {
  ExploreBounds bounds = small(0);
  bounds.losses = bounds.crashes = 1;
  return bounds;
}

ExploreBounds a_crash() {
  ExploreBounds bounds = small(1);
  bounds.crashes = 1;
  return bounds;
}

ExploreBounds two_nodes() {
  ExploreBounds bounds = small(1);
  bounds.nodes = 2;
  return bounds;
}

ExploreBounds a_takeover() {
  ExploreBounds bounds = small(0);
  bounds.leaders = 2;
  return bounds;
}

// Long enough for leases to end and for a successor on the other node.
ExploreBounds a_crash_and_silence() {
  ExploreBounds bounds = with_delays(7, 0);
  bounds.crashes = 1;
  return bounds;
}

ExploreBounds a_takeover_and_silence() {
  ExploreBounds bounds = with_delays(7, 0);
  bounds.leaders = 2;
  bounds.losses = 1;
  return bounds;
}

ExploreBounds a_late_fence() {
  ExploreBounds bounds = with_delays(6, 1);
  bounds.late = 1;
  return bounds;
}

ExploreBounds a_stop_beside_a_waiting_job() {
  ExploreBounds bounds = with_delays(2, 1);
  bounds.nodes = 1;
  bounds.jobs = 2;
  bounds.stops = 1;
  return bounds;
}

ExploreBounds a_failure_of_a_whole_job() {
  ExploreBounds bounds = with_delays(1, 1);
  bounds.workers = 2;
  bounds.exits = 1;
  bounds.recovery = RecoveryScope::Job;
  return bounds;
}

INSTANTIATE_TEST_SUITE_P(Bounds,
                         WholeWorld,
                         ::testing::Values(a_loss_and_a_crash(),
                                           a_crash(),
                                           two_nodes(),
                                           a_takeover(),
                                           a_crash_and_silence(),
                                           a_takeover_and_silence(),
                                           a_late_fence(),
                                           a_stop_beside_a_waiting_job(),
                                           a_failure_of_a_whole_job()));

TEST(Explorer, GivesEqualReportsForEqualBounds) {
  const ExploreReport first = explore(a_crash_and_silence(), fifo);
  const ExploreReport second = explore(a_crash_and_silence(), fifo);
  EXPECT_EQ(first.states, second.states);
  EXPECT_EQ(first.transitions, second.transitions);
  EXPECT_EQ(first.depth, second.depth);
}

TEST(Explorer, HasOneOrderWithoutDelaysAndFaults) {
  const ExploreReport report = explore(with_delays(3, 0), fifo);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.transitions, report.depth);
  EXPECT_EQ(report.states, report.depth + 1);
}

TEST(Explorer, ComesToMoreWithWiderBounds) {
  const ExploreReport narrow = explore(small(1), fifo);
  ExploreBounds wider = small(1);
  wider.losses = 1;
  const ExploreReport wide = explore(wider, fifo);
  EXPECT_GT(wide.states, narrow.states);
  EXPECT_TRUE(wide.complete);
}

TEST(Explorer, SaysThatItWasCutShort) {
  ExploreBounds bounds = two_nodes();
  bounds.states = 500;
  const ExploreReport by_states = explore(bounds, fifo);
  EXPECT_FALSE(by_states.complete);
  EXPECT_GE(by_states.states, 500U);
  EXPECT_LT(by_states.whole_depth, by_states.depth);

  bounds = two_nodes();
  bounds.depth = 4;
  const ExploreReport by_depth = explore(bounds, fifo);
  EXPECT_FALSE(by_depth.complete);
  EXPECT_EQ(by_depth.depth, 4U);
  EXPECT_EQ(by_depth.whole_depth, 4U);

  sim::ExploreOptions options;
  options.go_on = [](const ExploreReport&) { return false; };
  EXPECT_FALSE(explore(two_nodes(), fifo, options).complete);
}

// What is compared of a state is all that decides how it goes on.
TEST(Explorer, StatesThatCountAsOneGoOnAlike) {
  ExploreBounds all_orders = small(2);
  all_orders.leaders = 2;
  all_orders.crashes = 2;
  all_orders.losses = all_orders.exits = all_orders.late = all_orders.stops = 1;
  all_orders.states = tests::count_of(1'500, 5'000);
  EXPECT_EQ(first_unlike(all_orders, fifo), "");
  ExploreBounds past_the_lease = with_delays(7, 1);
  past_the_lease.states = tests::count_of(1'000, 3'000);
  EXPECT_EQ(first_unlike(past_the_lease, fifo), "");
  EXPECT_EQ(first_unlike(a_crash_and_silence(), fifo), "");
  EXPECT_EQ(first_unlike(two_nodes(), fifo), "");
}

}  // namespace
}  // namespace orrery::tests
