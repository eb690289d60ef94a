#include "tools/sweep/sweep_table.hpp"

#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

TEST(SweepTable, ARowHasParametersPolicySeedAndEveryNumber) {
  const auto sweep = read_sweep(
      "scenario: q.yaml\nlist: [{a: 'x, \"y\"'}, {}]\npolicies: [{name: easy, depth: 4}]\nseeds: "
      "7\n",
      "s.yaml");
  ASSERT_TRUE(sweep);
  std::vector<SweepResult> results;
  for (const SweepCell& cell : cells_of(*sweep)) results.push_back({cell, 0, {}});
  results[0].summary.jct_avg_s = 0.1;
  results[0].summary.jobs_total = 3;
  results[0].summary.unmet = {"one", "two"};
  results[0].summary.state_digest = "ab";
  results[1].exit_code = 4;
  const std::string csv = sweep_csv(*sweep, results);
  EXPECT_TRUE(csv.starts_with("cell,a,policy,seed,exit,jobs_total,jobs_finished,")) << csv;
  EXPECT_NE(csv.find("\n1,\"x, \"\"y\"\"\",easy depth=4,7,0,3,0,0,0,0.1,0,"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",ab,2\n2,,easy depth=4,7,4,0,"), std::string::npos) << csv;
  EXPECT_EQ(csv.find("wall_s"), std::string::npos);
}

}  // namespace
}  // namespace orrery::cli
