// A job as a document: reading it gives the job again.
#include "tools/cluster_world/job_document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/cluster_world/library.hpp"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class JobDocument : public testing::TestWithParam<std::string> {};

TEST_P(JobDocument, SaysEverySoundJobOfTheLibrary) {
  const auto scenario = scenarios::load_scenario(GetParam(), {});
  ASSERT_TRUE(scenario.has_value()) << scenario.errors()[0].text();
  std::vector<JobSpec> specs;
  for (const scenarios::ScenarioJob& job : scenario->jobs) {
    if (!check_spec(job.spec).empty()) continue;
    JobSpec spec = job.spec;
    for (RoleSpec& role : spec.roles.items()) role.command = {"/bin/true", "with \"quotes\""};
    specs.push_back(std::move(spec));
  }
  if (specs.empty()) return;
  EXPECT_THAT(lost_in_document(specs, scenario->groups, "jobs.json"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Library,
                         JobDocument,
                         testing::ValuesIn(tests::library_scenarios()),
                         tests::name_of_scenario);

TEST(JobDocumentLoss, IsToldForEachJob) {
  const auto scenario = scenarios::parse_scenario(
      "cluster: {nodes: 1}\njobs: [{name: a, command: x, work: 1s}, {name: b, command: x, work: "
      "1s}]",
      "two.yaml");
  ASSERT_TRUE(scenario.has_value());
  std::vector<JobSpec> specs{scenario->jobs[0].spec, scenario->jobs[1].spec};
  // Which no user can say of a job.
  specs[1].rigid_replicas = 3;
  const Errors lost = lost_in_document(specs, scenario->groups, "two.yaml");
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_THAT(lost[0].text(), HasSubstr("two.yaml: job default.b: no job file says all of it"));
}

}  // namespace
}  // namespace orrery::cli
