// Leaders crash at random points over a store of random latency: every job runs once, to its end.
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "tests/sim/control/hosted.hpp"

namespace orrery::tests {
namespace {

using sim::Crash;
using sim::CrashPoint;
using sim::TailLoss;

constexpr int kJobs = 12;

Crash random_crash(Random& random) {
  return {static_cast<CrashPoint>(random.below(4)),
          static_cast<std::uint32_t>(random.below(4)),
          static_cast<TailLoss>(random.below(4))};
}

/// What one seed came to.
struct Outcome {
  Digest chain;
  std::size_t lives = 0;
};

Outcome run_seed(std::uint64_t seed) {
  Random random = Random::stream(seed, "test");
  Hosted hosted(seed, random.chance(0.5) ? 0 : 1 + random.below(20));
  sim::ControllerHost& host = hosted.host;
  host.journal().set_faults({.latency = Duration::milliseconds(random.between(0, 400))});
  for (int i = 0; i < kJobs; ++i)
    hosted.ports.submit_at(
        random.between(1, 60),
        job("j" + std::to_string(i)).replicas(1 + static_cast<int>(random.below(3))));
  for (int i = 0; i < 8; ++i) {
    const Crash crash = random_crash(random);
    const bool second = random.chance(0.3);
    const Duration sleep = Duration::seconds(random.between(0, 10));
    hosted.ports.at(random.between(2, 100), [&host, &hosted, crash, second, sleep] {
      if (!host.leading()) {
        host.crash_next(crash);
      } else if (second) {
        host.pause(*host.leading(), hosted.ports.now() + sleep);
        (void)host.start_leader();
      } else {
        host.crash(*host.leading(), crash);
      }
    });
  }
  hosted.run(1000);
  EXPECT_TRUE(hosted.ports.all_answered());
  EXPECT_TRUE(host.leading().has_value());
  if (!host.leading()) return {};
  const State& state = hosted.state();
  EXPECT_EQ(state.live_count(), 0u);
  EXPECT_EQ(state.totals.failed, 0u);
  std::uint64_t workers = 0;
  std::uint32_t restarts = 0;
  state.for_each_job([&](const JobState& each) {
    workers += each.workers.size();
    restarts += each.row.restarts;
  });
  EXPECT_EQ(restarts, 0u);
  EXPECT_EQ(hosted.ports.starts, workers) << "a healthy worker was started again";
  hosted.checker.check_replays();
  return {hosted.checker.chain.back(), hosted.checker.lives.size()};
}

TEST(RandomCrashes, EveryJobRunsOnceToItsEnd) {
  std::size_t lives = 0;
  for (std::uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    lives += run_seed(seed).lives;
  }
  EXPECT_GT(lives, 900u) << "hardly a leader crashed";
}

TEST(RandomCrashes, EqualSeedsGiveEqualJournals) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EXPECT_EQ(run_seed(seed).chain, run_seed(seed).chain);
  }
}

}  // namespace
}  // namespace orrery::tests
