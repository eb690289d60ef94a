// Where Gavel's rounds put jobs: by count devices suffice, and nodes decide.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/policies/ask.hpp"
#include "tests/support/fake_run.hpp"

namespace orrery::testing {
namespace {

constexpr std::int64_t kHour_s = 3600;

/// One rule after the other; rounds of six minutes.
class GavelPlaces : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Policy>> made = policies::make_policy(GetParam(), {});
    if (!made) GTEST_SKIP() << "needs a solver of linear programs";
    policy_ = std::move(made.value());
  }

  /// The job's number. Jobs are submitted in order of time.
  JobId comes(std::int64_t at_s, const JobBuilder& builder, std::int64_t runs_s) {
    JobBuilder estimated = builder;
    arrivals_.push_back({Instant::zero() + Duration::seconds(at_s),
                         estimated.estimate(runs_s).spec(),
                         static_cast<double>(runs_s),
                         {}});
    return JobId{static_cast<std::uint32_t>(arrivals_.size() - 1)};
  }

  void run_until(std::int64_t at_s) {
    if (run_ == nullptr) run_ = std::make_unique<FakeRun>(std::move(cluster_), arrivals_);
    while (run_->step(*policy_, Instant::zero() + Duration::seconds(at_s))) continue;
    EXPECT_TRUE(run_->cluster().violations().empty()) << run_->cluster().violations().front();
    EXPECT_TRUE(run_->cluster().capacity_holds());
  }

  FakeCluster& cluster() { return run_->cluster(); }

  bool has_ended(JobId id) { return is_final(cluster().row(id).phase); }

  std::unique_ptr<Policy> policy_;
  FakeCluster cluster_;

 private:
  std::vector<Arrival> arrivals_;
  std::unique_ptr<FakeRun> run_;
};

// Four devices of one node are on the second type alone, which has eight of them to spare.
TEST_P(GavelPlaces, AGangHasNoShareOfATypeWhoseNodesDoNotHoldIt) {
  cluster_.add_nodes(3, 2, 1000, "p100");
  cluster_.add_nodes(2, 8, 1000, "k80");
  comes(0, job().devices(4).replicas(2).preemptible(), 10 * kHour_s);
  comes(1, job().devices(2).replicas(3).preemptible(), 10 * kHour_s);
  const JobId four = comes(400, job().devices(4).preemptible(), kHour_s);
  run_until(3 * kHour_s);
  EXPECT_TRUE(has_ended(four));
}

INSTANTIATE_TEST_SUITE_P(Rules,
                         GavelPlaces,
                         ::testing::Values("gavel_fifo",
                                           "gavel_las",
                                           "gavel_packing",
                                           "gavel_sum",
                                           "gavel_makespan",
                                           "gavel_isolated",
                                           "themis",
                                           "gandiva",
                                           "allox"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace orrery::testing
