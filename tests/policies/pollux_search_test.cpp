// The genetic search and the autoscaling rule of pollux, by hand.
#include "policies/pollux_search.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "policies/pollux_autoscale.hpp"

namespace orrery {
namespace {

using policies::AllocationMatrix;
using policies::SearchOptions;
using policies::SearchProblem;
using policies::SearchResult;
using policies::Speedups;

/// Speed in proportion to the replicas, less a tenth on several nodes.
class Proportional : public Speedups {
 public:
  double at(std::size_t, ReplicaSpread spread) override {
    return spread.replicas * (spread.nodes > 1 ? 0.9 : 1.0);
  }
};

SearchProblem problem(std::size_t rows, std::size_t nodes, std::int32_t devices) {
  SearchProblem out;
  out.devices.assign(nodes, devices);
  for (std::size_t row = 0; row < rows; ++row)
    out.rows.push_back({.replicas_max = static_cast<std::int32_t>(nodes) * devices,
                        .room = AllocationMatrix(nodes, static_cast<std::uint8_t>(devices))});
  out.current.assign(rows * nodes, 0);
  return out;
}

SearchResult search(const SearchProblem& of, const SearchOptions& options, std::uint64_t seed) {
  Proportional speedups;
  Random random(seed);
  return search_allocations(of, speedups, options, {}, random);
}

std::int32_t replicas(const AllocationMatrix& state, std::size_t row, std::size_t nodes) {
  const auto from = state.begin() + static_cast<std::ptrdiff_t>(row * nodes);
  return std::accumulate(from, from + static_cast<std::ptrdiff_t>(nodes), 0);
}

std::size_t nodes_of(const AllocationMatrix& state, std::size_t row, std::size_t nodes) {
  std::size_t count = 0;
  for (std::size_t node = 0; node < nodes; ++node) count += state[row * nodes + node] > 0;
  return count;
}

TEST(PolluxSearch, GivesEqualJobsEqualShares) {
  const SearchResult found = search(problem(4, 4, 4), {}, 1);
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(replicas(found.best, row, 4), 4) << "job " << row;
    EXPECT_EQ(nodes_of(found.best, row, 4), 1u) << "job " << row;
  }
}

TEST(PolluxSearch, EveryMemberOfTheFrontFits) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SearchProblem of = problem(7, 5, 4);
    of.rows[2].replicas_max = 3;
    of.rows[3].replicas_min = 5;
    of.rows[4].devices_each = 2;
    for (std::uint8_t& room : of.rows[4].room) room = 2;
    of.devices[1] = 1;
    for (const AllocationMatrix& state : search(of, {.generations = 15}, seed).front) {
      for (std::size_t node = 0; node < 5; ++node) {
        std::int32_t used = 0;
        std::size_t distributed = 0;
        for (std::size_t row = 0; row < 7; ++row) {
          used += state[row * 5 + node] * of.rows[row].devices_each;
          distributed += state[row * 5 + node] > 0 && nodes_of(state, row, 5) > 1;
        }
        EXPECT_LE(used, of.devices[node]) << "seed " << seed << " node " << node;
        EXPECT_LE(distributed, 1u) << "seed " << seed << " node " << node;
      }
      EXPECT_LE(replicas(state, 2, 5), 3) << "seed " << seed;
      const std::int32_t gang = replicas(state, 3, 5);
      EXPECT_TRUE(gang == 0 || gang >= 5) << "seed " << seed << ": " << gang;
    }
  }
}

TEST(PolluxSearch, LeavesAJobThatAMoveWouldCostTooMuch) {
  SearchProblem of = problem(1, 2, 4);
  of.current = {2, 0};
  of.rows[0].change_factor = 0.2;  // Of eight replicas: less than of the two that it has.
  EXPECT_EQ(search(of, {.generations = 30}, 1).best, of.current);
  of.rows[0].change_factor = 0.9;
  EXPECT_EQ(replicas(search(of, {.generations = 30}, 1).best, 0, 2), 8);
}

TEST(PolluxSearch, EqualSeedsFindTheSame) {
  const SearchProblem of = problem(6, 4, 4);
  const SearchResult a = search(of, {.generations = 5}, 3);
  const SearchResult b = search(of, {.generations = 5}, 3);
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.front, b.front);
}

TEST(PolluxSearch, BreedsNoMoreThanItsBudget) {
  const SearchProblem of = problem(6, 4, 4);
  constexpr std::int64_t generation = 100 * 6 * 4;
  const SearchResult free = search(of, {.patience = 100}, 3);
  EXPECT_EQ(free.generations, 100);
  EXPECT_EQ(free.cells, 100 * generation);
  const SearchResult bound = search(of, {.patience = 100, .budget = 7 * generation + 1}, 3);
  EXPECT_EQ(bound.generations, 7);
  EXPECT_EQ(bound.cells, 7 * generation);
  EXPECT_EQ(search(of, {.budget = 1}, 3).generations, 1) << "less would be no search";
}

// policies_in_detail.md, section 7: samples of .3 with low .35 act on the 16th, not the 15th.
TEST(PolluxAutoscaling, ActsOnTheSixteenthSample) {
  policies::UtilityAutoscaler autoscaler(
      {.nodes_min = 1, .utility_low = 0.35, .utility_high = 0.65});
  const auto utility_at = [](std::int32_t nodes) { return 4.8 / nodes; };
  for (int sample = 1; sample <= 15; ++sample)
    EXPECT_EQ(autoscaler.next(0.3, 16, 16, utility_at), 16) << "sample " << sample;
  EXPECT_EQ(autoscaler.next(0.3, 16, 16, utility_at), 10) << "4.8 / 10 is nearest to .5 from above";
  EXPECT_EQ(autoscaler.next(0.3, 10, 16, utility_at), 10) << "the samples were forgotten";
}

TEST(PolluxAutoscaling, StaysWithinTheRangeOfNodes) {
  const auto falling = [](std::int32_t nodes) { return 1.0 / nodes; };
  EXPECT_EQ(policies::nodes_for_utility(0.5, 4, 16, 16, falling), 4);
  const auto high = [](std::int32_t) { return 0.9; };
  EXPECT_EQ(policies::nodes_for_utility(0.5, 1, 8, 2, high), 8);
}

TEST(PolluxAutoscaling, IsOffWithoutALeastNumber) {
  EXPECT_FALSE(policies::UtilityAutoscaler({}).is_on(16));
  EXPECT_FALSE(policies::UtilityAutoscaler({.nodes_min = 16}).is_on(16));
  EXPECT_TRUE(policies::UtilityAutoscaler({.nodes_min = 4}).is_on(16));
}

}  // namespace
}  // namespace orrery
