#include "sim/workload/generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "core/base/digest.hpp"

namespace orrery::sim {
namespace {

using testing::Contains;
using testing::Field;
using testing::IsEmpty;

std::vector<GeneratedJob> all_jobs(const GeneratorSpec& spec) {
  EXPECT_THAT(check(spec), IsEmpty());
  JobStream stream(spec);
  std::vector<GeneratedJob> jobs;
  while (const auto job = stream.next()) jobs.push_back(*job);
  return jobs;
}

Digest digest_of_jobs(const std::vector<GeneratedJob>& jobs) {
  Digester digester;
  for (const GeneratedJob& job : jobs) {
    for (const std::int64_t value : {job.submit.ns, job.duration.ns, job.estimate.ns}) {
      digester.update(static_cast<std::uint64_t>(value));
    }
    for (const int value : {job.gpus,
                            job.gpus_min,
                            job.gpus_max,
                            static_cast<int>(job.preemptible),
                            static_cast<int>(job.user)}) {
      digester.update(static_cast<std::uint64_t>(value));
    }
  }
  return digester.finish();
}

GeneratorSpec mixed_spec() {
  GeneratorSpec spec;
  spec.seed = 7;
  spec.jobs = 50'000;
  spec.arrivals.jobs_per_hour = 120;
  spec.gpu_mix = {{.name = "small", .gpus = 1, .weight = 3},
                  {.name = "large", .gpus = 8, .weight = 1}};
  spec.preemptible_share = 0.5;
  spec.elastic_share = 0.4;
  spec.users = 10;
  spec.user_skew = 1.0;
  spec.estimate = LognormalEstimate{1.5, 0.5};
  return spec;
}

double share(const std::vector<GeneratedJob>& jobs, auto predicate) {
  int count = 0;
  for (const GeneratedJob& job : jobs) count += static_cast<int>(predicate(job));
  return count / static_cast<double>(jobs.size());
}

TEST(JobStream, EqualSpecsGiveEqualJobsAndTheirDigestIsPinned) {
  const Digest digest = digest_of_jobs(all_jobs(mixed_spec()));
  EXPECT_EQ(digest_of_jobs(all_jobs(mixed_spec())), digest);
  EXPECT_EQ(digest.to_hex(), "fa760ff33a6875302552acd0aa622927");
  GeneratorSpec other = mixed_spec();
  other.seed = 8;
  EXPECT_NE(digest_of_jobs(all_jobs(other)), digest);
}

TEST(JobStream, ACopyContinuesAlike) {
  JobStream stream(mixed_spec());
  for (int i = 0; i < 10; ++i) stream.next();
  JobStream copy = stream;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(copy.next()->submit, stream.next()->submit);
}

TEST(JobStream, ChangingOneAspectLeavesTheOthersAsTheyWere) {
  const auto before = all_jobs(mixed_spec());
  GeneratorSpec spec = mixed_spec();
  spec.estimate = ExactEstimate{};
  spec.preemptible_share = 1.0;
  spec.users = 1;
  spec.arrivals.jobs_per_hour = 60;
  const auto after = all_jobs(spec);
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(after[i].duration, before[i].duration);
    ASSERT_EQ(after[i].gpus, before[i].gpus);
  }
}

TEST(JobStream, PoissonArrivalsHaveTheirRateAndSpread) {
  const auto jobs = all_jobs(mixed_spec());
  double sum = 0.0;
  double square = 0.0;
  Instant previous = Instant::zero();
  for (const GeneratedJob& job : jobs) {
    ASSERT_GE(job.submit, previous);
    const double gap = (job.submit - previous).in_seconds();
    sum += gap;
    square += gap * gap;
    previous = job.submit;
  }
  const auto n = static_cast<double>(jobs.size());
  const double mean = sum / n;
  EXPECT_NEAR(mean, 30.0, 5 * 30.0 / std::sqrt(n)) << "seed 7";
  EXPECT_NEAR(std::sqrt(square / n - mean * mean) / mean, 1.0, 0.03) << "seed 7";
}

TEST(JobStream, DiurnalArrivalsFollowTheStatedCurve) {
  GeneratorSpec spec = mixed_spec();
  spec.seed = 9;
  spec.jobs = 200'000;
  spec.arrivals.amplitude = 0.6;
  spec.arrivals.peak_at = Duration::seconds(14 * 3600);
  const auto jobs = all_jobs(spec);
  std::vector<double> by_hour(24);
  for (const GeneratedJob& job : jobs) {
    by_hour[static_cast<std::size_t>(job.submit.ns / 3'600'000'000'000 % 24)] += 1.0;
  }
  const double mean = static_cast<double>(jobs.size()) / 24;
  for (std::size_t hour = 0; hour < 24; ++hour) {
    const double angle = 2 * std::numbers::pi * (static_cast<double>(hour) + 0.5 - 14.0) / 24;
    const double wanted = mean * (1.0 + 0.6 * std::cos(angle));
    EXPECT_NEAR(by_hour[hour], wanted, 5 * std::sqrt(wanted) + 0.02 * mean)
        << "seed 9, hour " << hour;
  }
  EXPECT_NEAR(jobs.back().submit.in_seconds(), 30.0 * 200'000, 0.02 * 30.0 * 200'000) << "seed 9";
}

TEST(JobStream, TheOfferedLoadIsTheStatedOneWhateverTheTail) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    GeneratorSpec spec = mixed_spec();
    spec.seed = seed;
    spec.jobs = 20'000;
    spec.duration = DurationDistribution::of(
        BoundedParetoDuration{1.05, Duration::seconds(60), Duration::seconds(1'000'000)});
    spec.arrivals = {.load = 1.3, .cluster_gpus = 512};
    const auto jobs = all_jobs(spec);
    double gpu_seconds = 0.0;
    for (const GeneratedJob& job : jobs) gpu_seconds += job.gpus * job.duration.in_seconds();
    const double load = gpu_seconds / (512 * jobs.back().submit.in_seconds());
    // Only the arrivals' own spread is left: one part in sqrt(jobs).
    EXPECT_NEAR(load, 1.3, 1.3 * 5 / std::sqrt(20'000.0)) << "seed " << seed;
  }
}

TEST(JobStream, SizesFlagsAndUsersHaveTheirShares) {
  const auto jobs = all_jobs(mixed_spec());
  EXPECT_NEAR(share(jobs, [](auto& job) { return job.gpus == 8; }), 0.25, 0.01) << "seed 7";
  EXPECT_NEAR(share(jobs, [](auto& job) { return job.preemptible; }), 0.5, 0.012) << "seed 7";
  const auto elastic = [](auto& job) { return job.gpus_min < job.gpus_max; };
  EXPECT_NEAR(share(jobs, elastic), 0.2, 0.01) << "seed 7";
  // Weights 1, 1/2, ... 1/10 sum to 2.929.
  EXPECT_NEAR(share(jobs, [](auto& job) { return job.user == 0; }), 1 / 2.929, 0.012) << "seed 7";
  EXPECT_NEAR(share(jobs, [](auto& job) { return job.user == 9; }), 0.1 / 2.929, 0.006) << "seed 7";
}

TEST(JobStream, OnlyElasticJobsHaveBoundsAndTheyArePreemptible) {
  GeneratorSpec spec = mixed_spec();
  spec.elastic_shrink = 3;
  spec.elastic_grow = 4;
  for (const GeneratedJob& job : all_jobs(spec)) {
    ASSERT_EQ(job.gpus, spec.gpu_mix[job.gpu_class].gpus);
    if (job.gpus_min == job.gpus && job.gpus_max == job.gpus) continue;
    ASSERT_TRUE(job.preemptible);
    ASSERT_EQ(job.gpus_min, job.gpus == 8 ? 3 : 1);
    ASSERT_EQ(job.gpus_max, 4 * job.gpus);
  }
}

TEST(JobStream, EstimatesFollowTheirFactor) {
  const auto jobs = all_jobs(mixed_spec());
  EXPECT_NEAR(
      share(jobs, [](auto& job) { return job.estimate.ns > 1.5 * job.duration.ns; }), 0.5, 0.012)
      << "seed 7";
  GeneratorSpec spec = mixed_spec();
  spec.estimate = UniformEstimate{0.5, 2.0};
  for (const GeneratedJob& job : all_jobs(spec)) {
    ASSERT_GE(job.estimate.ns, job.duration.ns / 2 - 1000);
    ASSERT_LE(job.estimate.ns, job.duration.ns * 2);
  }
  spec.estimate = ExactEstimate{};
  for (const GeneratedJob& job : all_jobs(spec)) ASSERT_EQ(job.estimate, job.duration);
}

TEST(JobStream, NoJobsIsAnEmptyStream) {
  GeneratorSpec spec = mixed_spec();
  spec.jobs = 0;
  spec.arrivals = {.load = 0.9, .cluster_gpus = 8};
  EXPECT_THAT(all_jobs(spec), IsEmpty());
}

TEST(GeneratorSpec, EveryFaultIsReportedAtOnceWithItsField) {
  GeneratorSpec spec = mixed_spec();
  spec.arrivals = {.jobs_per_hour = 5, .load = 1.0, .amplitude = 1.5};
  spec.gpu_mix[1].gpus = 0;
  spec.preemptible_share = std::numeric_limits<double>::quiet_NaN();
  spec.estimate = UniformEstimate{2.0, 1.0};
  spec.users = 0;
  const Errors errors = check(spec, "workload");
  for (const char* field : {"workload.arrivals",
                            "workload.arrivals.cluster_gpus",
                            "workload.arrivals.amplitude",
                            "workload.gpu_mix[1].gpus",
                            "workload.preemptible_share",
                            "workload.estimate",
                            "workload.users"}) {
    EXPECT_THAT(errors, Contains(Field(&Error::subject, field)));
  }
  EXPECT_EQ(errors.size(), 7U);
}

}  // namespace
}  // namespace orrery::sim
