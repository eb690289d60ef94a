// Random orders and faults on the simulated cluster: whatever comes, work is neither lost nor
// gained beyond checkpoints, no worker lives on a node that is down, and the same seed tells the
// same story.
#include <gtest/gtest.h>

#include <string>

#include "core/base/digest.hpp"
#include "core/base/random.hpp"
#include "core/record/codec.hpp"
#include "tests/sim/model/world_harness.hpp"

namespace orrery::tests {
namespace {

using scenarios::FaultKind;

constexpr double kUnits = 400;
constexpr std::uint32_t kJobs = 3;

scenarios::Scenario random_scenario(Random& random) {
  scenarios::Scenario scenario = four_nodes();
  scenario.timing.start = Duration::seconds(random.between(0, 3));
  scenario.timing.stop = Duration::seconds(random.between(0, 3));
  scenario.timing.restore = Duration::seconds(random.between(0, 2));
  scenario.timing.rescale = Duration::seconds(random.between(0, 2));
  if (random.chance(0.7))
    scenario.timing.checkpoint_interval = Duration::seconds(random.between(3, 20));
  constexpr FaultKind kKinds[] = {FaultKind::Crash,
                                  FaultKind::Delete,
                                  FaultKind::Hang,
                                  FaultKind::Slow,
                                  FaultKind::Down,
                                  FaultKind::Up,
                                  FaultKind::DeviceLost,
                                  FaultKind::PreemptionNotice,
                                  FaultKind::AgentCrash,
                                  FaultKind::LinkCut,
                                  FaultKind::Cordon};
  for (int i = 0; i < 25; ++i) {
    scenarios::Fault fault = fault_at(random.uniform(0, 300), kKinds[random.below(11)]);
    fault.lasting = Duration::from_seconds(random.uniform(0.1, 40));
    fault.factor = random.uniform(1, 5);
    fault.devices = random.between(1, 15);
    fault.notice = Duration::from_seconds(random.uniform(0, 20));
    fault.nodes = {NodeId{static_cast<std::uint32_t>(random.below(4))}};
    scenario.faults.push_back(fault);
  }
  scenarios::FaultProcess process;
  process.rate_per_1000_node_days = 2e6;
  process.repair_median = Duration::seconds(10);
  process.mix.process_restart = 1;
  process.mix.fail_slow = 0.5;
  process.mix.slow_lasting = Duration::seconds(20);
  if (random.chance(0.5)) scenario.fault_processes.push_back(process);
  return scenario;
}

std::vector<sim::ModelJob> random_jobs(Random& random) {
  constexpr RecoveryScope kScopes[] = {
      RecoveryScope::Worker, RecoveryScope::Role, RecoveryScope::Job};
  std::vector<sim::ModelJob> jobs;
  for (std::uint32_t j = 0; j < kJobs; ++j) {
    JobSpec spec = job("j" + std::to_string(j)).elastic(1, 4).recovery(kScopes[j]).spec();
    spec.failover.edit().hang_after = Duration::seconds(15);
    spec.failover.edit().straggler_factor = 2;
    jobs.push_back(modelled(spec, kUnits));
    (void)random;
  }
  return jobs;
}

/// Gives random orders and looks at the truth after each.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed)
      : random_(Random::stream(seed, "orders")),
        setup_(Random::stream(seed, "setup")),
        scenario_(random_scenario(setup_)),
        world_(scenario_, random_jobs(setup_)) {}

  void play() {
    world_.pass_to(0);
    double t = 0;
    while (t < 400) {
      t += random_.uniform(0, 6);
      world_.pass_to(t);
      check();
      order(JobId{static_cast<std::uint32_t>(random_.below(kJobs))});
      check();
    }
    world_.pass_to(500);
    check();
  }

  Digest digest() const {
    ByteWriter bytes;
    for (const Event& event : world_.events) encode(event, bytes);
    Digester digester;
    digester.update(bytes.bytes());
    return digester.finish();
  }

 private:
  void order(JobId id) {
    const sim::LiveJob* job = world_.world.cluster().job(id);
    if (job == nullptr) return;
    const std::uint32_t number = job->generation.value + 1;
    if (job->workers.empty()) {
      const auto last = static_cast<std::uint32_t>(random_.below(4));
      return world_.start(number, 0, last, {}, id);
    }
    const std::vector<sim::ModelWorker> workers = job->workers;
    const sim::ModelWorker& one = workers[random_.below(workers.size())];
    StopWorkers stop{id, job->generation, Duration::seconds(random_.between(0, 10)), {}};
    const bool all = random_.chance(0.5);
    for (const sim::ModelWorker& w : workers)
      if (all || &w == &one) stop.workers.push_back({w.rank, w.node, w.incarnation});
    world_.issue(std::move(stop));
  }

  void check() {
    const sim::SimulatedCluster& cluster = world_.world.cluster();
    for (const sim::LivingProcess& process : cluster.living()) {
      EXPECT_FALSE(cluster.is_down(process.node)) << "a worker lives on a dead node";
      EXPECT_LE(process.since, cluster.now());
    }
    for (std::uint32_t j = 0; j < kJobs; ++j) {
      const sim::LiveJob* job = cluster.job(JobId{j});
      if (job == nullptr) continue;
      const double done = job->done_at(cluster.now());
      EXPECT_NEAR(job->worked - job->lost, job->done, 1e-6) << "work from nowhere";
      EXPECT_LE(job->safe, done + 1e-9) << "more is safe than was done";
      EXPECT_GE(done, safe_[j] - 1e-9) << "safe work was lost";
      EXPECT_LE(done, kUnits + 1e-9);
      EXPECT_GE(job->lost, 0);
      safe_[j] = job->safe;
      // In so long no worker does more than all replicas at their full rate.
      EXPECT_LE(job->worked, 4 * cluster.now().in_seconds() + 1e-6);
      for (const sim::ModelWorker& w : job->workers) {
        if (w.hung && job->counts(w)) {
          EXPECT_EQ(job->rate, 0) << "a hung worker works";
        }
      }
    }
  }

  Random random_;
  Random setup_;
  scenarios::Scenario scenario_;
  WorldHarness world_;
  double safe_[kJobs] = {};
};

class RandomOrders : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomOrders, NeitherLoseNorGainWorkBeyondCheckpoints) {
  for (std::uint64_t seed = GetParam(); seed < GetParam() + 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun run(seed);
    run.play();
    RandomRun again(seed);
    again.play();
    EXPECT_EQ(run.digest(), again.digest());
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOrders, testing::Values(0, 100, 200, 300));

}  // namespace
}  // namespace orrery::tests
