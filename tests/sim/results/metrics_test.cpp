#include "sim/results/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.hpp"

namespace orrery::sim {
namespace {

Instant at_s(std::int64_t s) { return Instant::zero() + Duration::seconds(s); }

Notice phase(JobId job, Instant at, JobPhase from, JobPhase to) {
  Notice notice;
  notice.kind = NoticeKind::PhaseChanged;
  notice.at = notice.occurred_at = at;
  notice.job = job;
  notice.from = from;
  notice.to = to;
  return notice;
}

Notice allocated(JobId job, Instant at, std::int32_t replicas, std::int32_t devices) {
  Notice notice;
  notice.kind = NoticeKind::Allocated;
  notice.at = notice.occurred_at = at;
  notice.job = job;
  notice.count = replicas;
  notice.devices = devices;
  notice.thousandths = devices * 1000;
  return notice;
}

TEST(Metrics, OneJobFromSubmissionToItsEnd) {
  Metrics metrics;
  const JobId job(0);
  metrics.submitted(job, {.name = "a", .submitted = at_s(10), .devices_requested = 4});
  metrics.observe(allocated(job, at_s(25), 4, 4));
  metrics.observe(phase(job, at_s(25), JobPhase::Pending, JobPhase::Starting));
  metrics.observe(phase(job, at_s(26), JobPhase::Starting, JobPhase::Running));
  Notice end = phase(job, at_s(112), JobPhase::Running, JobPhase::Succeeded);
  end.occurred_at = at_s(110);
  metrics.observe(end);
  const Summary summary = metrics.summarise({.end = at_s(500), .devices = 8});
  EXPECT_EQ(summary.jobs_total, 1U);
  EXPECT_EQ(summary.jobs_finished, 1U);
  EXPECT_EQ(summary.jct_avg_s, 100);
  EXPECT_EQ(summary.queue_avg_s, 15);
  EXPECT_EQ(summary.queue_max, 1U);
  EXPECT_EQ(summary.makespan_s, 100);
  // The two seconds until the controller heard of the end are nobody's.
  EXPECT_EQ(summary.gpu_seconds_allocated, 4 * (110 - 25));
  EXPECT_DOUBLE_EQ(summary.gpu_utilization, 4.0 * 85 / (8 * 100));
}

TEST(Metrics, APartOfADeviceCountsAsThatPart) {
  Metrics metrics;
  const JobId job(0);
  metrics.submitted(job, {.name = "a", .submitted = at_s(0), .devices_requested = 2});
  Notice parts = allocated(job, at_s(0), 2, 2);
  parts.thousandths = 750;
  metrics.observe(parts);
  metrics.observe(phase(job, at_s(0), JobPhase::Pending, JobPhase::Running));
  metrics.observe(phase(job, at_s(100), JobPhase::Running, JobPhase::Succeeded));
  EXPECT_DOUBLE_EQ(metrics.summarise({.end = at_s(100), .devices = 1}).gpu_utilization, 0.75);
}

TEST(Metrics, AJobThatStartsInTheInstantOfItsSubmissionNeverWaited) {
  Metrics metrics;
  metrics.submitted(JobId(0), {.name = "a", .submitted = at_s(1)});
  metrics.observe(phase(JobId(0), at_s(1), JobPhase::Pending, JobPhase::Starting));
  EXPECT_EQ(metrics.summarise({.end = at_s(2), .devices = 1}).queue_max, 0U);
}

// In 300 quotients of 1 each their sum is a little less than 1.
TEST(Metrics, WhereNoJobWaitsTheMeanSlowdownIsExactlyOne) {
  Metrics metrics;
  for (std::uint32_t i = 0; i < 300; ++i) {
    const JobId job(i);
    metrics.submitted(job, {.name = "a", .submitted = at_s(10), .devices_requested = 1});
    metrics.observe(allocated(job, at_s(10), 1, 1));
    metrics.observe(phase(job, at_s(10), JobPhase::Pending, JobPhase::Starting));
    metrics.observe(phase(job, at_s(10), JobPhase::Starting, JobPhase::Running));
    metrics.observe(phase(job, at_s(110), JobPhase::Running, JobPhase::Succeeded));
  }
  EXPECT_EQ(metrics.summarise({.end = at_s(110), .devices = 300}).slowdown_avg, 1);
}

TEST(Metrics, CountersAreSummedOverJobs) {
  Metrics metrics;
  for (std::uint32_t i = 0; i < 2; ++i) {
    metrics.submitted(JobId(i), {.name = "a", .submitted = at_s(0)});
    for (std::int32_t value = 1; value <= 3; ++value) {
      Notice notice;
      notice.kind = NoticeKind::Counted;
      notice.job = JobId(i);
      notice.counter = i == 0 ? Counter::Restarts : Counter::Preemptions;
      notice.count = value;
      metrics.observe(notice);
    }
  }
  const Summary summary = metrics.summarise({.end = at_s(1), .devices = 1});
  EXPECT_EQ(summary.restarts, 3U);
  EXPECT_EQ(summary.reallocations, 0U);
  EXPECT_EQ(summary.preemptions, 3U);
}

TEST(Metrics, FailedAndUnfinishedJobsHaveNoCompletionTime) {
  Metrics metrics;
  for (std::uint32_t i = 0; i < 3; ++i)
    metrics.submitted(JobId(i), {.name = "a", .submitted = at_s(0)});
  metrics.observe(allocated(JobId(0), at_s(5), 1, 1));
  metrics.observe(phase(JobId(0), at_s(5), JobPhase::Pending, JobPhase::Starting));
  metrics.observe(phase(JobId(0), at_s(9), JobPhase::Starting, JobPhase::Failed));
  metrics.observe(allocated(JobId(1), at_s(9), 1, 2));
  metrics.observe(phase(JobId(1), at_s(9), JobPhase::Pending, JobPhase::Starting));
  const Summary summary = metrics.summarise({.end = at_s(20), .devices = 2});
  EXPECT_EQ(summary.jobs_failed, 1U);
  EXPECT_EQ(summary.jobs_unfinished, 2U);
  EXPECT_EQ(summary.jct_avg_s, 0);
  EXPECT_EQ(summary.queue_avg_s, 7);
  EXPECT_EQ(summary.makespan_s, 20);
  EXPECT_EQ(summary.gpu_seconds_allocated, 4 + 22);
}

TEST(Metrics, AnEmptyRunIsAllZeros) {
  const Summary summary = Metrics().summarise({.end = at_s(9), .devices = 4});
  EXPECT_EQ(summary.jobs_total, 0U);
  EXPECT_EQ(summary.makespan_s, 0);
  EXPECT_EQ(summary.gpu_utilization, 0);
}

/// A random life of one job, kept as plain facts for the naive computation.
struct Life {
  std::int64_t submit = 0;
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> end;
  bool succeeded = false;
  JobPhase phase = JobPhase::Pending;
  std::vector<std::pair<std::int64_t, std::int32_t>> held;  // (from, devices)
};

/// Value at position q * (n - 1) between neighbours, from the definition.
double naive_percentile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double position = q * static_cast<double>(values.size() - 1);
  std::size_t below = 0;
  while (static_cast<double>(below + 1) <= position) ++below;
  if (below + 1 == values.size()) return values.back();
  return values[below] +
         (position - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

/// Drives Metrics with random lives, one instant a second, and keeps what happened.
class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(Random::stream(seed, "metrics test")) {}

  void play() {
    for (now_ = 0; now_ < 400; ++now_) {
      while (random_.below(3) == 0) submit();
      for (std::uint32_t i = 0; i < lives_.size(); ++i)
        if (random_.below(6) == 0) change(i);
      std::uint64_t waiting = 0;
      for (const Life& life : lives_) waiting += life.phase == JobPhase::Pending ? 1 : 0;
      queue_max_ = std::max(queue_max_, waiting);
    }
  }

  Summary summary() const { return metrics_.summarise({.end = at_s(400), .devices = 16}); }

  void expect_equal_to_the_naive_computation() const {
    std::vector<double> jct;
    std::vector<double> queued;
    double device_seconds = 0;
    std::int64_t first = 1000;
    std::int64_t last = 0;
    for (const Life& life : lives_) {
      first = std::min(first, life.submit);
      const bool runs = !is_final(life.phase) && life.phase != JobPhase::Pending;
      last = std::max(last, life.end.value_or(runs ? 400 : 0));
      if (life.succeeded) jct.push_back(static_cast<double>(*life.end - life.submit));
      if (life.start) queued.push_back(static_cast<double>(*life.start - life.submit));
      for (std::size_t i = 0; i < life.held.size(); ++i) {
        const std::int64_t until =
            i + 1 < life.held.size() ? life.held[i + 1].first : life.end.value_or(400);
        device_seconds += static_cast<double>((until - life.held[i].first) * life.held[i].second);
      }
    }
    const Summary got = summary();
    EXPECT_EQ(got.jobs_total, lives_.size());
    EXPECT_EQ(got.jobs_finished, jct.size());
    EXPECT_EQ(got.jobs_total, got.jobs_finished + got.jobs_failed + got.jobs_unfinished);
    EXPECT_NEAR(got.jct_p50_s, naive_percentile(jct, 0.5), 1e-9);
    EXPECT_NEAR(got.jct_p90_s, naive_percentile(jct, 0.9), 1e-9);
    EXPECT_NEAR(got.jct_p99_s, naive_percentile(jct, 0.99), 1e-9);
    EXPECT_NEAR(got.queue_p99_s, naive_percentile(queued, 0.99), 1e-9);
    EXPECT_EQ(got.queue_max, queue_max_);
    EXPECT_EQ(got.gpu_seconds_allocated, device_seconds);
    EXPECT_EQ(got.makespan_s, static_cast<double>(last - first));
  }

 private:
  void submit() {
    const JobId job(static_cast<std::uint32_t>(lives_.size()));
    lives_.push_back({.submit = now_});
    metrics_.submitted(job, {.name = "job", .submitted = at_s(now_)});
  }

  void to(std::uint32_t i, JobPhase next) {
    metrics_.observe(phase(JobId(i), at_s(now_), lives_[i].phase, next));
    lives_[i].phase = next;
  }

  void hold(std::uint32_t i, std::int32_t devices) {
    metrics_.observe(allocated(JobId(i), at_s(now_), devices, devices));
    lives_[i].held.emplace_back(now_, devices);
  }

  void change(std::uint32_t i) {
    Life& life = lives_[i];
    if (is_final(life.phase)) return;
    if (life.phase == JobPhase::Pending) {
      hold(i, 1 + static_cast<std::int32_t>(random_.below(8)));
      if (!life.start) life.start = now_;
      to(i, JobPhase::Running);
    } else if (random_.below(4) == 0) {
      hold(i, 0);
      to(i, JobPhase::Pending);
    } else if (random_.below(3) == 0) {
      life.succeeded = random_.below(5) != 0;
      life.end = now_;
      to(i, life.succeeded ? JobPhase::Succeeded : JobPhase::Failed);
    } else {
      hold(i, 1 + static_cast<std::int32_t>(random_.below(8)));
    }
  }

  Random random_;
  Metrics metrics_;
  std::vector<Life> lives_;
  std::int64_t now_ = 0;
  std::uint64_t queue_max_ = 0;
};

TEST(Metrics, EqualTheNaiveComputationOnRandomRuns) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomRun run(seed);
    run.play();
    run.expect_equal_to_the_naive_computation();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace orrery::sim
