// Every published completion time of the artifact's two deterministic policies, to the second.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/models/speed_estimates.hpp"
#include "policies/optimus.hpp"
#include "policies/tiresias.hpp"
#include "tests/sim/pollux/artifact.hpp"
#include "tests/support/pollux_reference.hpp"

namespace orrery::tests {
namespace {

struct Case {
  std::string policy;
  int workload;
};

std::unique_ptr<Policy> policy_named(const std::string& name) {
  if (name == "tiresias") {
    return std::make_unique<policies::Tiresias>(policies::TiresiasParameters{});
  }
  // The profiles live as long as the program: nothing to own.
  const std::shared_ptr<const PolluxProfiles> profiles(&artifact_profiles(), [](const auto*) {});
  return std::make_unique<policies::Optimus>(policies::OptimusParameters{},
                                             std::make_unique<PolluxEstimates>(profiles, 4));
}

std::map<std::string, std::int64_t> published(const std::string& policy,
                                              const std::string& workload) {
  std::ifstream file(artifact_folder() / "results" / "results-jobload" / (policy + "-1.0") /
                     "summary.json");
  const auto summary = nlohmann::json::parse(file);
  return summary.at("jcts").at(workload).get<std::map<std::string, std::int64_t>>();
}

class PolluxCompletionTimes : public testing::TestWithParam<Case> {};

TEST_P(PolluxCompletionTimes, EqualThePublishedOnesOfEveryJob) {
  SKIP_WITHOUT_ARTIFACT();
  const std::string workload = "workload-" + std::to_string(GetParam().workload);
  const auto submissions = sim::read_pollux_workload(
      artifact_folder() / "workloads" / (workload + ".csv"), artifact_profiles());
  ASSERT_TRUE(submissions.has_value()) << submissions.errors().front().text();
  EXPECT_EQ(submissions->size(), 160u);
  const auto policy = policy_named(GetParam().policy);
  EXPECT_EQ(PolluxReference(artifact_profiles(), *submissions).run(*policy),
            published(GetParam().policy, workload));
}

INSTANTIATE_TEST_SUITE_P(Published,
                         PolluxCompletionTimes,
                         testing::Values(Case{"tiresias", 1},
                                         Case{"tiresias", 2},
                                         Case{"tiresias", 3},
                                         Case{"tiresias", 6},
                                         Case{"optimus", 1},
                                         Case{"optimus", 2},
                                         Case{"optimus", 3},
                                         Case{"optimus", 6}),
                         [](const auto& test) {
                           return test.param.policy + std::to_string(test.param.workload);
                         });

}  // namespace
}  // namespace orrery::tests
