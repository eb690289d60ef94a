// Planted bugs that the explorer finds, each within bounds that take seconds. Without a bug the
// same bounds hold nothing that breaks: what takes long to show is left to `tools/soak explore`,
// whose bounds are wider.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>

#include "core/base/planted.hpp"
#include "policies/fifo.hpp"
#include "sim/explore/explorer.hpp"
#include "tests/support/long_form.hpp"

namespace orrery::tests {
namespace {

using sim::ExploreBounds;
using sim::ViolationKind;

struct Hunt {
  Bug bug = Bug::None;
  ViolationKind as = ViolationKind::TwoEntitled;
  ExploreBounds bounds;
  bool is_tried_without = true;
  bool is_long =
      false;  ///< Takes seconds, and a storm finds the bug as well: left to the long form.
};

void PrintTo(const Hunt& hunt, std::ostream* out) { *out << to_string(hunt.bug); }

std::unique_ptr<Policy> fifo() { return std::make_unique<policies::Fifo>(); }

sim::ExploreReport hunt(const Hunt& wanted, Bug bug) {
  planted_bug = bug;
  sim::ExploreReport report = explore(wanted.bounds, fifo, {.go_on = {}, .only = wanted.as});
  planted_bug = Bug::None;
  return report;
}

// A lease and what comes after it, with so many delays and crashes.
ExploreBounds past_the_lease(std::uint32_t seconds, std::uint32_t delays, std::uint32_t crashes) {
  ExploreBounds bounds;
  bounds.seconds = seconds;
  bounds.delays = delays;
  bounds.crashes = crashes;
  return bounds;
}

// An agent comes back when its lease is over, and has no connection until its node is silent.
ExploreBounds back_too_late() {
  ExploreBounds bounds = past_the_lease(5, 1, 1);
  bounds.depth = 42;
  return bounds;
}

ExploreBounds takeover(std::uint32_t crashes) {
  ExploreBounds bounds;
  bounds.nodes = 1;
  bounds.leaders = 2;
  bounds.seconds = 0;
  bounds.delays = 0;
  bounds.crashes = crashes;
  return bounds;
}

// The job that waits gets the device of the one that is stopped.
ExploreBounds stop() {
  ExploreBounds bounds;
  bounds.nodes = 1;
  bounds.jobs = 2;
  bounds.seconds = 1;
  bounds.delays = 0;
  bounds.stops = 1;
  return bounds;
}

class ExplorerFinds : public ::testing::TestWithParam<Hunt> {};

TEST_P(ExplorerFinds, PlantedBug) {
  const Hunt& wanted = GetParam();
  if (wanted.is_long && count_of(0, 1) == 0)
    GTEST_SKIP() << "left to the long form (tools/soak tests)";
  const sim::ExploreReport with = hunt(wanted, wanted.bug);
  ASSERT_TRUE(with.counterexample) << with.states << " states";
  EXPECT_EQ(with.counterexample->violation.kind, wanted.as);
  EXPECT_FALSE(with.counterexample->steps.empty());
  std::printf("%-24s %-20s %8llu states, %3zu steps\n",
              std::string(to_string(wanted.bug)).c_str(),
              std::string(to_string(wanted.as)).c_str(),
              static_cast<unsigned long long>(with.states),
              with.counterexample->steps.size());
  if (!wanted.is_tried_without) return;
  const sim::ExploreReport without = hunt(wanted, Bug::None);
  EXPECT_TRUE(without.complete || without.whole_depth == wanted.bounds.depth);
  EXPECT_FALSE(without.counterexample);
  std::printf(
      "%56s without it %8llu states\n", "", static_cast<unsigned long long>(without.states));
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    ExplorerFinds,
    ::testing::Values(
        Hunt{Bug::ForgetSelfFence, ViolationKind::TwoEntitled, past_the_lease(6, 1, 0)},
        Hunt{Bug::FenceTooLate, ViolationKind::TwoEntitled, past_the_lease(6, 1, 0)},
        Hunt{Bug::ShimFenceNeverFires, ViolationKind::TwoEntitled, past_the_lease(6, 0, 1)},
        Hunt{Bug::AdoptWithoutChecking, ViolationKind::TwoEntitled, back_too_late(), false, true},
        Hunt{Bug::AdoptNothing, ViolationKind::DoubleBooked, past_the_lease(1, 0, 1)},
        Hunt{Bug::StartBeforeRelease, ViolationKind::DoubleBooked, stop()},
        Hunt{Bug::ActBeforeDurable, ViolationKind::ActBeforeDurable, takeover(0)},
        Hunt{Bug::ActBeforeDurable, ViolationKind::JobVanished, takeover(1)},
        Hunt{Bug::EpochNotRaised, ViolationKind::EpochNotRaised, takeover(0)},
        Hunt{Bug::OrdersOutOfEpoch, ViolationKind::WrongEpoch, takeover(0)},
        Hunt{Bug::ReplaySkipsRecord, ViolationKind::JournalBroken, takeover(0)}),
    [](const auto& each) {
      return std::string(to_string(each.param.bug)) + "_as_" +
             std::string(to_string(each.param.as));
    });

}  // namespace
}  // namespace orrery::tests
