// What one decision of a policy takes, against the size of the cluster: cold, and with churn.
//
//   bench_decisions POLICY GPUS [JOBS] [name=value]...
//
// Nodes of 8 devices; 20,000 jobs for 131,072 devices and as many for each device of smaller
// clusters where JOBS is not given. Half of the jobs are elastic, with 1 to 16 devices; the others
// are gangs of 1 to 8, half of them preemptible; together they ask for about all devices. Cold: all
// jobs wait, and the policy is asked for the first time. Then come cycles of the policy's period:
// in each 1 % of the jobs have ended and as many are new, and the policy is asked once. Prints one
// line of JSON: CPU milliseconds of the cold decision, and median and most of the others.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "tests/support/fake_view.hpp"

namespace orrery::bench {
namespace {

constexpr int kCycles = 10;

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

class Churn {
 public:
  Churn(std::int32_t gpus, std::int64_t jobs) : random_(Random::stream(1, "decisions")) {
    cluster_.add_nodes(std::max(1, gpus / 8), std::min(gpus, 8));
    for (std::int64_t i = 0; i < jobs; ++i) submit();
  }

  /// CPU milliseconds of one decision, which is carried out.
  double decide(Policy& policy) {
    const double start = cpu_ms();
    const Plan plan = cluster_.ask_optimize(policy);
    const double took = cpu_ms() - start;
    cluster_.carry_out(plan);
    return took;
  }

  /// Lets a period pass, in which 1 % of the jobs end; as many come.
  void turn(Policy& policy, Duration period) {
    const auto holding = cluster_.holding();
    const std::vector<JobId> all(holding.begin(), holding.end());
    const std::size_t ends = std::max<std::size_t>(1, cluster_.live_count() / 100);
    for (std::size_t i = 0; i < ends && !all.empty(); ++i)
      cluster_.end_now(all[random_.below(all.size())]);
    cluster_.advance_to(cluster_.now() + period);
    for (std::size_t i = 0; i < ends; ++i) {
      const JobId id = submit();
      cluster_.carry_out(cluster_.ask_allocate(policy, id));
    }
  }

  std::size_t holding() const { return cluster_.holding().size(); }

 private:
  JobId submit() {
    testing::JobBuilder job;
    job.estimate(random_.between(600, 360'000));
    const bool elastic = random_.below(2) == 0;
    if (elastic)
      job.replicas(1, 16).preemptible();
    else
      job.devices(std::int32_t{1} << random_.below(4));
    if (!elastic && random_.below(2) == 0) job.preemptible();
    return cluster_.submit(job, 1e9);
  }

  testing::FakeCluster cluster_;
  Random random_;
};

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "bench_decisions: needs POLICY GPUS [JOBS] [name=value]...\n");
    return 2;
  }
  const auto gpus = static_cast<std::int32_t>(std::atoi(argv[2]));
  std::int64_t jobs = std::max<std::int64_t>(4, std::int64_t{gpus} * 20'000 / 131'072);
  policies::PolicyArguments arguments{.seed = 1, .devices_per_node = 8};
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t equals = text.find('=');
    if (equals == text.npos)
      jobs = std::atoll(argv[i]);
    else
      arguments.parameters[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (gpus < 1 || jobs < 1) {
    std::fprintf(stderr, "bench_decisions: GPUS and JOBS have to be 1 or more\n");
    return 2;
  }
  auto policy = policies::make_policy(argv[1], arguments);
  if (!policy) {
    std::fprintf(stderr, "bench_decisions: %s\n", policy.errors().front().text().c_str());
    return 2;
  }
  Churn churn(gpus, jobs);
  const Duration period = std::max((*policy)->triggers().period, Duration::seconds(60));
  const double cold = churn.decide(**policy);
  std::vector<double> warm;
  for (int i = 0; i < kCycles; ++i) {
    churn.turn(**policy, period);
    warm.push_back(churn.decide(**policy));
  }
  std::sort(warm.begin(), warm.end());
  std::printf(
      "{\"policy\": \"%s\", \"gpus\": %d, \"jobs\": %lld, \"holding\": %zu, \"cold_ms\": %.4f, "
      "\"churn_median_ms\": %.4f, \"churn_max_ms\": %.4f}\n",
      argv[1],
      gpus,
      static_cast<long long>(jobs),
      churn.holding(),
      cold,
      warm[warm.size() / 2],
      warm.back());
  return 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) { return orrery::bench::run(argc, argv); }
