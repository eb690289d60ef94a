#include "tests/policies/contract.hpp"

#include <set>

namespace orrery::testing {
namespace {

std::int64_t one_of(Random& random, std::initializer_list<std::int64_t> values) {
  return *(values.begin() + random.below(values.size()));
}

Arrival random_arrival(Random& random, Instant at, ContractScope scope) {
  JobBuilder job;
  const auto devices = static_cast<std::int32_t>(one_of(random, {1, 1, 1, 2, 4, 8}));
  const auto least = static_cast<std::int32_t>(random.between(1, devices > 2 ? 2 : 6));
  const bool elastic = random.below(3) == 0;
  job.devices(devices).replicas(
      least, elastic ? least + static_cast<std::int32_t>(random.between(1, 4)) : least);
  job.cpu(random.between(0, 4));
  if (elastic || random.below(2) == 0 || !scope.fixed) job.preemptible();
  if (random.below(6) == 0) job.priority(100);
  if (random.below(6) == 0 && scope.quotas) job.group("limited");
  if (random.below(8) == 0 && least * devices <= 8 && scope.several_roles) job.also(2, 1);
  const std::int64_t work = one_of(random, {30, 300, 3000, 30000}) + random.between(0, 29);
  if (random.below(4) != 0) job.estimate(work * random.between(50, 200) / 100);
  Arrival arrival{at, job.spec(), static_cast<double>(work), {}};
  if (random.below(2) == 0) arrival.curve = [](std::int32_t n) { return n / (1.0 + 0.1 * n); };
  return arrival;
}

/// One history of a policy. One that is replaced half way goes on as another that loads its state,
/// and is compared with a fresh one at every question.
struct History {
  History(const PolicyMaker& make,
          std::uint64_t seed,
          ContractScope scope,
          bool replaced_half_way) {
    FakeRun run = random_run(seed, scope);
    run.settle(8);
    if (replaced_half_way) run.compare_with_fresh(make);
    run.after_plan = [&] { capacity_held = capacity_held && run.cluster().capacity_holds(); };
    std::unique_ptr<Policy> policy = make();
    for (int i = 0; i < 40 && run.step(*policy); ++i) continue;
    if (replaced_half_way) policy = reloaded(make, *policy);
    run.cluster().everything_changed();
    finished = run.run(*policy);
    plans = run.plans();
    violations = run.cluster().violations();
    restless = run.restless();
    history_matters = run.history_matters();
  }

  static std::unique_ptr<Policy> reloaded(const PolicyMaker& make, const Policy& old) {
    ByteWriter out;
    old.save(out);
    std::unique_ptr<Policy> fresh = make();
    ByteReader in(out.bytes());
    fresh->load(in);
    return fresh;
  }

  bool capacity_held = true;
  bool finished = false;
  bool restless = false;
  bool history_matters = false;
  std::vector<std::pair<Instant, Plan>> plans;
  std::vector<std::string> violations;
};

std::string promise_of(const std::string& violation) {
  if (violation.find("bounds") != std::string::npos) return "bounds";
  if (violation.find("fixed") != std::string::npos) return "fixed";
  if (violation.find("quota") != std::string::npos) return "quota";
  return "capacity";
}

}  // namespace

FakeRun random_run(std::uint64_t seed, ContractScope scope) {
  Random random = Random::stream(seed, "contract");
  FakeCluster cluster;
  cluster.add_nodes(static_cast<std::int32_t>(random.between(2, 5)), 8, 64);
  cluster.set_quota("limited", 16);
  if (random.below(2) == 0) cluster.report_progress();
  std::vector<Arrival> arrivals;
  Instant at;
  for (int i = 0; i < 60; ++i) {
    arrivals.push_back(random_arrival(random, at, scope));
    at = at + Duration::seconds(one_of(random, {0, 1, 20, 100, 700}));
  }
  return FakeRun(std::move(cluster), std::move(arrivals));
}

std::vector<std::string> broken_promises(const PolicyMaker& make,
                                         std::uint64_t seed,
                                         ContractScope scope) {
  std::vector<std::string> broken;
  const History first(make, seed, scope, false);
  for (const std::string& violation : first.violations)
    broken.push_back(promise_of(violation) + ": " + violation);
  if (!first.capacity_held) broken.push_back("capacity: a node gave more than it has");
  if (!first.finished) broken.push_back("starvation: jobs are left for ever");
  if (first.restless) broken.push_back("stability: changes its mind though nothing changed");
  // One that goes on alike with what was saved is the second run of equal views as well.
  const History loaded(make, seed, scope, true);
  if (loaded.plans == first.plans && !loaded.history_matters) return broken;
  if (History(make, seed, scope, false).plans != first.plans)
    broken.push_back("determinism: equal views and state gave other plans");
  broken.push_back("save and load: the loaded policy went on differently");
  return broken;
}

}  // namespace orrery::testing
