// The pollux policy and jobs that choose their batch, on workloads of the artifact and by hand.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/pollux.hpp"
#include "tests/sim/pollux/artifact.hpp"
#include "tests/support/long_form.hpp"
#include "tests/support/pollux_reference.hpp"

namespace orrery::tests {
namespace {

using policies::Pollux;
using policies::PolluxParameters;

std::vector<sim::PolluxSubmission> workload(int number) {
  const std::string name = "workload-" + std::to_string(number) + ".csv";
  return sim::read_pollux_workload(artifact_folder() / "workloads" / name, artifact_profiles())
      .value();
}

double published_mean(int number) {
  std::ifstream file(artifact_folder() / "results" / "results-jobload" / "pollux-1.0" /
                     "summary.json");
  const auto summary = nlohmann::json::parse(file);
  return summary.at("avgs").at("workload-" + std::to_string(number)).get<double>();
}

double mean(const std::map<std::string, std::int64_t>& times) {
  double sum = 0;
  for (const auto& [name, seconds] : times) sum += static_cast<double>(seconds);
  return sum / static_cast<double>(times.size());
}

// The artifact's search draws without a seed: its means differ by some percent from run to run.
// tools/bench/pollux_means.py has the other workloads and seeds.
TEST(PolluxPolicy, MeanCompletionTimeIsThePublishedOneWithinFivePercent) {
  SKIP_WITHOUT_ARTIFACT();
  constexpr std::uint64_t seed = 1;
  PolluxParameters parameters;
  // Breeding a quarter as many, the search finds as good allocations; the long form (tools/soak
  // tests) breeds all.
  parameters.search.population = static_cast<std::int32_t>(count_of(50, 100));
  parameters.search.generations = static_cast<std::int32_t>(count_of(50, 100));
  Pollux policy(parameters, seed);
  const auto jobs = workload(3);
  const auto times = PolluxReference(artifact_profiles(), jobs, 16, 4, true).run(policy);
  EXPECT_EQ(times.size(), 160u);
  EXPECT_NEAR(mean(times) / published_mean(3), 1, 0.05) << "seed " << seed;
}

std::vector<sim::PolluxSubmission> first_jobs(std::size_t count) {
  std::vector<sim::PolluxSubmission> jobs = workload(3);
  jobs.resize(count);
  return jobs;
}

TEST(PolluxPolicy, RepeatsItselfFromItsSeed) {
  SKIP_WITHOUT_ARTIFACT();
  const auto times = [&](std::uint64_t seed) {
    Pollux policy({}, seed);
    return PolluxReference(artifact_profiles(), first_jobs(12), 4, 4, true).run(policy);
  };
  EXPECT_EQ(times(7), times(7));
  EXPECT_NE(times(7), times(8));
}

/// Asks a policy that was saved and loaded before each plan, and demands the same plan.
class Reloaded : public Policy {
 public:
  explicit Reloaded(std::uint64_t seed)
      : policy_(std::make_unique<Pollux>(PolluxParameters{}, seed)) {}

  std::string_view name() const override { return policy_->name(); }

  Triggers triggers() const override { return policy_->triggers(); }

  Plan allocate(const JobView& job, const ClusterView& view) override {
    return policy_->allocate(job, view);
  }

  Plan optimize(const ClusterView& view) override {
    ByteWriter saved;
    policy_->save(saved);
    Pollux loaded({}, 99);
    ByteReader reader(saved.bytes());
    loaded.load(reader);
    EXPECT_TRUE(reader.finished());
    const Plan plan = policy_->optimize(view);
    const Plan again = loaded.optimize(view);
    EXPECT_EQ(again.grants, plan.grants);
    EXPECT_EQ(again.nodes, plan.nodes);
    return plan;
  }

  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}

 private:
  std::unique_ptr<Pollux> policy_;
};

TEST(PolluxPolicy, GoesOnAlikeWhereItWasSavedAndLoaded) {
  SKIP_WITHOUT_ARTIFACT();
  Reloaded policy(3);
  PolluxReference(artifact_profiles(), first_jobs(8), 4, 4, true).run(policy);
}

TEST(PolluxPolicy, RunsOnNodesOfAnyShape) {
  SKIP_WITHOUT_ARTIFACT();
  for (const auto& [nodes, gpus] : {std::pair{2, 8}, std::pair{40, 2}, std::pair{3, 6}}) {
    Pollux policy({}, 5);
    const auto times =
        PolluxReference(artifact_profiles(), first_jobs(5), nodes, gpus, true).run(policy);
    EXPECT_EQ(times.size(), 5u) << nodes << " nodes of " << gpus;
  }
}

TEST(PolluxPolicy, LeavesNodesUnusedWhileTheirUtilityIsLow) {
  SKIP_WITHOUT_ARTIFACT();
  PolluxParameters parameters;
  parameters.autoscale = {.nodes_min = 2, .utility_low = 0.6, .utility_high = 0.9};
  Pollux all({}, 5);
  Pollux few(parameters, 5);
  const auto spread = PolluxReference(artifact_profiles(), first_jobs(6), 16, 4, true).run(all);
  const auto packed = PolluxReference(artifact_profiles(), first_jobs(6), 16, 4, true).run(few);
  EXPECT_GT(mean(packed), mean(spread)) << "fewer nodes, the same jobs";
}

TEST(PolluxJobs, ChooseABatchByWhatTheyMeasured) {
  SKIP_WITHOUT_ARTIFACT();
  const PolluxApplication& cifar = artifact_profiles().find("cifar10")->second;
  PolluxJob job(cifar, PolluxJob::kTuned, Instant::zero());
  const std::vector<int> gpus = {4};
  ASSERT_TRUE(job.reallocate(gpus));
  EXPECT_EQ(job.split().total(4),
            std::max(cifar.limits().initial_total, 4 * cifar.limits().atomic_min))
      << "nothing is measured yet";
  EXPECT_FALSE(job.take_report().has_value());
  job.step(Duration::seconds(60));
  EXPECT_GT(job.split().total(4), cifar.limits().initial_total);
  EXPECT_LE(job.split().total(4), cifar.limits().total_max);
  ASSERT_TRUE(job.take_report().has_value());
  EXPECT_FALSE(job.take_report().has_value()) << "taken once";
}

TEST(PolluxApplications, AnswerBeyondTheirProfile) {
  SKIP_WITHOUT_ARTIFACT();
  const PolluxApplication& cifar = artifact_profiles().find("cifar10")->second;
  const int batch = cifar.limits().atomic_min;
  const auto step_s = [&](std::vector<int> gpus) {
    const auto time = cifar.step_time(gpus, batch);
    EXPECT_TRUE(time.has_value()) << gpus.size() << " nodes of " << gpus.front();
    return time ? time->step_s : 0;
  };
  EXPECT_GE(step_s({8}), step_s({4})) << "more replicas on a node exchange no faster";
  EXPECT_GE(step_s({8, 8}), step_s({4, 4}));
  EXPECT_GT(step_s(std::vector<int>(20, 2)), 0) << "counts as 16 nodes of 40 replicas";
  EXPECT_GE(step_s(std::vector<int>(20, 4)), step_s(std::vector<int>(16, 4)));
}

}  // namespace
}  // namespace orrery::tests
