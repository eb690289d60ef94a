#include "sim/storm/storm_plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/job/turns.hpp"
#include "sim/storm/plan_families.hpp"
#include "sim/storm/plan_jobs.hpp"
#include "sim/storm/scenario_yaml.hpp"
#include "tests/sim/storm/storm_policies.hpp"

namespace orrery::sim {
namespace {

TEST(StormPlan, EqualSeedsGiveEqualPlans) {
  const auto policies = tests::storm_policies();
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    EXPECT_EQ(to_yaml(plan_storm(seed, policies)), to_yaml(plan_storm(seed, policies)));
}

TEST(StormPlan, EveryJobIsSoundAndFitsAlone) {
  const auto policies = tests::storm_policies();
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const scenarios::Scenario plan = plan_storm(seed, policies);
    for (const scenarios::ScenarioJob& job : plan.jobs) {
      EXPECT_TRUE(check_spec(job.spec).empty()) << "seed " << seed;
      std::vector<std::int32_t> counts;
      for (const RoleSpec& role : job.spec.roles) counts.push_back(role.min_replicas);
      if (!is_seated(job.spec)) {
        EXPECT_EQ(can_never_run(plan, job.spec), job.spec.name == "default.never")
            << "seed " << seed;
      }
      if (job.spec.name == "default.never") continue;
      // A job that names its seats is waited for to its deadline.
      EXPECT_TRUE(is_seated(job.spec) ? !job.spec.wait_deadline.is_forever()
                                      : fits_alone(plan, job.spec, counts))
          << "seed " << seed;
    }
  }
}

// Two jobs that take turns round by round, and are killed at its end, would never get on.
TEST(StormPlan, ACheckpointComesDueInARound) {
  const std::vector<scenarios::PolicyChoice> rounds{{"gandiva", {{"round", "60s", {}}}, {}}};
  bool any = false;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const scenarios::Timing timing = plan_storm(seed, rounds).timing;
    const Duration begins = timing.stop + timing.start + timing.restore;
    EXPECT_LE(begins + timing.checkpoint_interval, Duration::seconds(60)) << "seed " << seed;
    any = any || begins + timing.checkpoint_interval > Duration::seconds(50);
  }
  EXPECT_TRUE(any) << "long ones are tried too";
}

TEST(StormPlan, SomeJobsSayWhereTheySitInEveryWay) {
  const auto policies = tests::storm_policies();
  int sized = 0;
  int on_nodes = 0;
  int shared = 0;
  int turns = 0;
  int bundled = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed)
    for (const scenarios::ScenarioJob& job : plan_storm(seed, policies).jobs) {
      turns += job.spec.take_turns.empty() ? 0 : 1;
      bundled += job.spec.virtual_clusters.empty() ? 0 : 1;
      for (const RoleSpec& role : job.spec.roles) {
        if (role.placements.empty()) continue;
        sized += role.placements.size() > 1 ? 1 : 0;
        on_nodes += role.placements.front().node_groups.empty() ? 0 : 1;
        shared += role.bundle.share.is_whole() ? 0 : 1;
      }
    }
  for (const int count : {sized, on_nodes, shared, turns, bundled}) EXPECT_GT(count, 10);
}

TEST(StormPlan, JobsComeInEveryFormAndSomeCanNeverRun) {
  const auto policies = tests::storm_policies();
  std::set<JobFamily> families;
  int never = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed)
    for (const scenarios::ScenarioJob& job : plan_storm(seed, policies).jobs) {
      families.insert(job.spec.family);
      never += job.spec.name == "default.never" ? 1 : 0;
    }
  EXPECT_EQ(families.size(), EnumNames<JobFamily>::kNames.size());
  EXPECT_GT(never, 10);
}

TEST(StormPlan, MostStormsAreNotExactAndNoneLetsAnAgentOutliveItsLease) {
  const auto policies = tests::storm_policies();
  int late = 0;
  int batched = 0;
  int planned = 0;
  int drifting = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const scenarios::Scenario plan = plan_storm(seed, policies);
    const scenarios::Jitter& jitter = plan.jitter;
    late += jitter.timers.ns > 0 ? 1 : 0;
    batched += jitter.batches.ns > 0 ? 1 : 0;
    planned += jitter.planner.ns > 0 ? 1 : 0;
    drifting += jitter.clocks_ppm > 0 ? 1 : 0;
    const double drift_s = plan.settings.node_lease.in_seconds() * 2 * jitter.clocks_ppm / 1e6;
    EXPECT_LT(drift_s + jitter.timers.in_seconds(), plan.settings.fence_margin.in_seconds())
        << "seed " << seed;
  }
  EXPECT_GT(late, 500);
  EXPECT_LT(late, 700);
  for (const int count : {batched, planned, drifting}) EXPECT_GT(count, 150);
}

TEST(StormPlan, EveryKindOfFaultComesUpAndAllEnd) {
  const auto policies = tests::storm_policies();
  std::set<scenarios::FaultKind> seen;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed)
    for (const scenarios::Fault& fault : plan_storm(seed, policies).faults) {
      seen.insert(fault.kind);
      if (fault.after) continue;
      EXPECT_LE(fault.at, kStormCalmFrom) << "seed " << seed;
      if (!fault.lasting.is_forever()) {
        EXPECT_LE(fault.at + fault.notice + fault.lasting, kStormCalmFrom) << "seed " << seed;
      }
    }
  EXPECT_EQ(seen.size(), 25U);
}

}  // namespace
}  // namespace orrery::sim
