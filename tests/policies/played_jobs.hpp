// A policy that plays a few jobs on a small cluster, for tests of what comes of its decisions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tests/policies/ask.hpp"
#include "tests/support/fake_run.hpp"

namespace orrery::testing {

constexpr std::int64_t kMinute_s = 60;
constexpr std::int64_t kHour_s = 3600;

/// The fixture sets `policy_`; the test adds nodes, then jobs, then runs.
class PlayedJobs : public ::testing::Test {
 protected:
  /// The job's number. Jobs are submitted in order of time.
  JobId comes(std::int64_t at_s, JobBuilder builder, std::int64_t runs_s) {
    arrivals_.push_back({Instant::zero() + Duration::seconds(at_s),
                         builder.estimate(runs_s).spec(),
                         static_cast<double>(runs_s),
                         {}});
    return JobId{static_cast<std::uint32_t>(arrivals_.size() - 1)};
  }

  void run_until(std::int64_t at_s) {
    if (run_ == nullptr) run_ = std::make_unique<FakeRun>(std::move(cluster_), arrivals_);
    while (run_->step(*policy_, Instant::zero() + Duration::seconds(at_s))) continue;
    EXPECT_TRUE(cluster().violations().empty()) << cluster().violations().front();
    EXPECT_TRUE(cluster().capacity_holds());
  }

  /// From the first `run_until` on.
  FakeCluster& cluster() { return run_->cluster(); }

  bool has_started(JobId id) {
    return cluster().row(id).holds || has_ended(id) || cluster().row(id).attained_us > 0;
  }

  bool has_ended(JobId id) { return is_final(cluster().row(id).phase); }

  /// Without nodes and jobs again.
  void begin_anew() {
    cluster_ = {};
    arrivals_.clear();
    run_ = nullptr;
  }

  std::unique_ptr<Policy> policy_;
  FakeCluster cluster_;  ///< Before the first `run_until`.

 private:
  std::vector<Arrival> arrivals_;
  std::unique_ptr<FakeRun> run_;
};

}  // namespace orrery::testing
