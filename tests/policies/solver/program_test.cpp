// Programs whose answers are known, and the same answers each time.
#include "policies/solver/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"
#include "core/base/random.hpp"

namespace orrery::solver {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Solver : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_available()) GTEST_SKIP() << "built without CLP and CBC";
  }
};

/// Three products on three machines: F. Hillier and G. Lieberman's Wyndor Glass.
Program wyndor() {
  Program program(Sense::Maximise);
  const auto doors = program.add_column({.objective = 3});
  const auto windows = program.add_column({.objective = 5});
  program.add_row(-kInfinity, 4, std::vector<Entry>{{doors, 1}});
  program.add_row(-kInfinity, 12, std::vector<Entry>{{windows, 2}});
  program.add_row(-kInfinity, 18, std::vector<Entry>{{doors, 3}, {windows, 2}});
  return program;
}

/// A knapsack of two weights, drawn from `seed`.
Program knapsack(std::uint64_t seed, int items) {
  Random random(seed);
  Program program(Sense::Maximise);
  std::vector<Entry> weights;
  std::vector<Entry> sizes;
  for (int i = 0; i < items; ++i) {
    const double weight = static_cast<double>(random.between(10, 99));
    const double worth = weight + static_cast<double>(random.between(0, 9));
    const auto item = program.add_column({.upper = 1, .objective = worth, .integer = true});
    weights.push_back({item, weight});
    sizes.push_back({item, static_cast<double>(random.between(1, 50))});
  }
  program.add_row(-kInfinity, items * 25, weights);
  program.add_row(-kInfinity, items * 11, sizes);
  return program;
}

/// The best of all subsets, for few items.
double best_by_trying(const Program& program) {
  const auto columns = static_cast<std::uint32_t>(program.columns().size());
  double best = 0;
  for (std::uint32_t chosen = 0; chosen < (1U << columns); ++chosen) {
    double worth = 0;
    bool fits = true;
    for (std::uint32_t i = 0; i < columns; ++i)
      if ((chosen >> i & 1) != 0) worth += program.columns()[i].objective;
    for (std::int32_t row = 0; row < program.rows() && fits; ++row) {
      double sum = 0;
      for (const Entry& entry : program.row(row))
        if ((chosen >> entry.column & 1) != 0) sum += entry.value;
      fits = sum <= program.row_upper(row);
    }
    if (fits) best = std::max(best, worth);
  }
  return best;
}

/// Shares of three types of devices: many best answers, and many ties on the way.
Program shares(int jobs) {
  Program program(Sense::Maximise);
  const auto least = program.add_column({.lower = -kInfinity, .objective = 1});
  std::vector<std::vector<Entry>> held(3);
  for (int job = 0; job < jobs; ++job) {
    std::vector<Entry> time;
    std::vector<Entry> speed{{least, -1}};
    for (int type = 0; type < 3; ++type) {
      const auto share = program.add_column({});
      time.push_back({share, 1});
      speed.push_back({share, 1.0 + job % 4 + type});
      held[static_cast<std::size_t>(type)].push_back({share, static_cast<double>(1 << job % 3)});
    }
    program.add_row(-kInfinity, 1, time);
    program.add_row(0, kInfinity, speed);
  }
  for (const std::vector<Entry>& each : held) program.add_row(-kInfinity, jobs / 3.0, each);
  return program;
}

void expect_kept(const Program& program, const std::vector<double>& values) {
  for (std::int32_t row = 0; row < program.rows(); ++row) {
    double sum = 0;
    for (const Entry& entry : program.row(row))
      sum += entry.value * values[static_cast<std::size_t>(entry.column)];
    EXPECT_GE(sum, program.row_lower(row) - 1e-6) << "row " << row;
    EXPECT_LE(sum, program.row_upper(row) + 1e-6) << "row " << row;
  }
}

TEST_F(Solver, FindsTheOptimumOfALinearProgram) {
  const Solution found = solve(wyndor());
  EXPECT_EQ(found.status, Status::Optimal);
  EXPECT_THAT(found.objective, DoubleNear(36, 1e-9));
  EXPECT_THAT(found.values, ElementsAre(DoubleNear(2, 1e-9), DoubleNear(6, 1e-9)));
}

TEST_F(Solver, MinimisesAndKeepsLowerBoundsAndEqualities) {
  Program program(Sense::Minimise);
  const auto x = program.add_column({.lower = -5, .upper = 5, .objective = 1});
  const auto y = program.add_column({.lower = -kInfinity, .objective = 2});
  program.add_row(3, 3, std::vector<Entry>{{x, 1}, {y, 1}});
  program.add_row(-1, kInfinity, std::vector<Entry>{{y, 1}});
  const Solution found = solve(program);
  EXPECT_EQ(found.status, Status::Optimal);
  EXPECT_THAT(found.values, ElementsAre(DoubleNear(4, 1e-9), DoubleNear(-1, 1e-9)));
  EXPECT_THAT(found.objective, DoubleNear(2, 1e-9));
}

TEST_F(Solver, TellsWhatOneMoreOfABindingBoundIsWorth) {
  Program most(Sense::Maximise);
  const std::int32_t x = most.add_column({.upper = 3, .objective = 3});
  const std::int32_t y = most.add_column({.objective = 2});
  most.add_row(-kInfinity, 4, std::vector<Entry>{{x, 1}, {y, 1}});
  most.add_row(-kInfinity, 9, std::vector<Entry>{{x, 1}, {y, 3}});
  EXPECT_EQ(solve(most).duals, (std::vector<double>{2, 0})) << "y = 1 more; the other has room";
  Program least(Sense::Minimise);
  const std::int32_t z = least.add_column({.objective = 5});
  least.add_row(3, kInfinity, std::vector<Entry>{{z, 1}});
  EXPECT_EQ(solve(least).duals, (std::vector<double>{5}));
  Program whole(Sense::Minimise);
  whole.add_column({.lower = 1, .objective = 1, .integer = true});
  EXPECT_TRUE(solve(whole).duals.empty());
}

TEST_F(Solver, SaysInfeasible) {
  for (const bool integer : {false, true}) {
    Program program(Sense::Minimise);
    const auto x = program.add_column({.objective = 1, .integer = integer});
    program.add_row(2, kInfinity, std::vector<Entry>{{x, 1}});
    program.add_row(-kInfinity, 1, std::vector<Entry>{{x, 1}});
    const Solution found = solve(program);
    EXPECT_EQ(found.status, Status::Infeasible);
    EXPECT_THAT(found.values, IsEmpty());
  }
}

TEST_F(Solver, SaysInfeasibleWhereOnlyWholeNumbersAreMissing) {
  Program program(Sense::Minimise);
  const auto x = program.add_column({.upper = 10, .integer = true});
  program.add_row(3, 3, std::vector<Entry>{{x, 2}});
  EXPECT_EQ(solve(program).status, Status::Infeasible);
}

TEST_F(Solver, SaysUnbounded) {
  for (const bool integer : {false, true}) {
    Program program(Sense::Maximise);
    const auto x = program.add_column({.objective = 1, .integer = integer});
    program.add_row(2, kInfinity, std::vector<Entry>{{x, 1}});
    EXPECT_EQ(solve(program).status, Status::Unbounded);
  }
}

TEST_F(Solver, ProgramsWithoutRowsOrColumnsHaveAnswers) {
  Program program(Sense::Maximise);
  EXPECT_EQ(solve(program).status, Status::Optimal);
  program.add_column({.lower = 1, .upper = 2.5, .objective = 2});
  EXPECT_THAT(solve(program).values, ElementsAre(2.5));
  program.set_column(0, {.lower = 1, .upper = 2.5, .objective = 2, .integer = true});
  EXPECT_THAT(solve(program).values, ElementsAre(2));
}

TEST_F(Solver, ChangedRowsAndColumnsCount) {
  Program program = wyndor();
  program.set_row(0, -kInfinity, 1);
  EXPECT_THAT(solve(program).objective, DoubleNear(33, 1e-9));
  program.set_column(1, {.objective = 0});
  EXPECT_THAT(solve(program).objective, DoubleNear(3, 1e-9));
}

TEST_F(Solver, FindsTheBestOfAllSubsets) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Program program = knapsack(seed, 12);
    const Solution found = solve(program);
    EXPECT_EQ(found.status, Status::Optimal) << "seed " << seed;
    EXPECT_DOUBLE_EQ(found.objective, best_by_trying(program)) << "seed " << seed;
    expect_kept(program, found.values);
  }
}

TEST_F(Solver, StopsAtTheLimitOfIterations) {
  const Solution found = solve(wyndor(), {.iterations = 0});
  EXPECT_EQ(found.status, Status::Limit);
  EXPECT_THAT(found.values, IsEmpty());
}

TEST_F(Solver, StopsAtTheLimitOfNodesWithTheIncumbent) {
  const Program program = knapsack(7, 60);
  const Solution best = solve(program, {.relative_gap = 0});
  const Solution first = solve(program, {.nodes = 0, .relative_gap = 0});
  EXPECT_EQ(best.status, Status::Optimal);
  EXPECT_EQ(first.status, Status::Limit);
  ASSERT_TRUE(first.has_values());
  EXPECT_LE(first.objective, best.objective);
  expect_kept(program, first.values);
}

TEST_F(Solver, ARelativeGapIsEnoughToStop) {
  const Program program = knapsack(7, 60);
  const double best = solve(program, {.relative_gap = 0}).objective;
  const Solution near = solve(program, {.relative_gap = 0.05});
  EXPECT_EQ(near.status, Status::Optimal);
  EXPECT_GE(near.objective, best * 0.95);
}

TEST_F(Solver, WholeColumnsAreWholeAndNoneIsBeyondItsBounds) {
  const Program program = knapsack(11, 40);
  for (const double value : solve(program).values) EXPECT_TRUE(value == 0 || value == 1) << value;
}

TEST_F(Solver, SharesKeepTheirBounds) {
  const Program program = shares(40);
  const Solution found = solve(program);
  EXPECT_EQ(found.status, Status::Optimal);
  expect_kept(program, found.values);
}

Digest digest_of_answers() {
  ByteWriter out;
  const auto add = [&](const Solution& found) {
    out.u32(static_cast<std::uint32_t>(found.status));
    for (const double value : found.values) out.u64(std::bit_cast<std::uint64_t>(value));
  };
  for (const int jobs : {3, 12, 48, 192}) add(solve(shares(jobs)));
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    add(solve(knapsack(seed, 50), {.nodes = 50, .relative_gap = 0}));
  Digester digester;
  digester.update(out.bytes());
  return digester.finish();
}

// The same program is run with other variants of glibc's functions as policies_solver_masked. With
// another version of the library the answers may be others of the same worth.
TEST_F(Solver, TiesAreBrokenAlikeOnEveryProcessor) {
  const Digest first = digest_of_answers();
  EXPECT_EQ(first, digest_of_answers()) << "another answer the second time";
  if (library() == "CLP 1.17.6, CBC 2.10.8") {
    EXPECT_EQ(first.to_hex(), "c9b36cf9bc9777a37fccdf8ad9177495");
  }
}

TEST_F(Solver, PrintsNothing) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  digest_of_answers();
  solve(knapsack(3, 12));
  Program infeasible(Sense::Minimise);
  infeasible.add_column({.upper = 10, .integer = true});
  infeasible.add_row(3, 3, std::vector<Entry>{{0, 2}});
  solve(infeasible);
  std::fflush(nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace orrery::solver
