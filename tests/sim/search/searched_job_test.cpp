// What a search reads of a scenario, and what it refuses.
#include "sim/search/searched_job.hpp"

#include <gmock/gmock.h>

#include "tests/sim/search/searched_scenarios.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text, std::string_view name = {}) {
  const scenarios::Scenario scenario = scenario_of(text);
  const auto job = searched_job(scenario, name);
  return job ? "" : job.errors()[0].text();
}

TEST(SearchedJob, HasTheRolesOfTheLoopAndTheNodes) {
  Searched searched;
  searched.cluster = "{nodes: 2, gpus_per_node: 4, gpu: h100}";
  searched.search = "{devices: 6, replicas: {rollout: 2-3, actor: 1}, apart: [[actor, rollout]]}";
  const scenarios::Scenario scenario = scenario_of(text_of(searched));
  const auto job = searched_job(scenario, "loop");
  ASSERT_TRUE(job) << job.errors()[0].text();
  ASSERT_EQ(job->roles.size(), 3u);
  EXPECT_EQ(job->roles[0].name, "rollout");
  EXPECT_EQ(job->roles[0].reference, 2);
  EXPECT_EQ(job->roles[0].min_replicas, 2);
  EXPECT_EQ(job->roles[0].max_replicas, 3);
  EXPECT_EQ(job->roles[1].max_replicas, 6) << "without bounds as many as there are devices";
  EXPECT_EQ(job->roles[2].max_replicas, 1);
  EXPECT_EQ(job->parts.size(), 3u);
  EXPECT_EQ(job->nodes.size(), 2u);
  EXPECT_EQ(job->devices, 6);
  EXPECT_TRUE(job->are_apart(0, 2));
  EXPECT_FALSE(job->are_apart(0, 1));
  EXPECT_EQ(job->limits.micro_batches, (std::vector<std::int32_t>{1, 2, 4, 8, 16}));
}

TEST(SearchedJob, RefusesWhatItCannotSearchFor) {
  const std::string sound = text_of({});
  EXPECT_THAT(refusal(sound, "other"),
              HasSubstr("--job is 'other', which the scenario does not have; name one of "
                        "default.loop"));
  EXPECT_THAT(refusal("name: x\ncluster: {nodes: 1, gpus_per_node: 2, gpu: h100}\njobs: [{name: a, "
                      "work: 5s}]\n"),
              HasSubstr("searched.yaml:3: job default.a: no stage times are stated"));
  Searched more;
  more.search = "{micro_batches: [1, 33], group: 2}";
  EXPECT_THAT(refusal(text_of(more)),
              HasSubstr("search.micro_batches has 33, at most the 32 groups of a turn are needed"));
  std::string unused = sound;
  unused.insert(unused.find("    work:"), "      idle: {gpus: 1}\n");
  EXPECT_THAT(refusal(unused), HasSubstr("role idle has devices and no part in the loop"));
  std::string part = sound;
  part.replace(part.find("inference: {replicas: 2, gpus: 1}"),
               std::string("inference: {replicas: 2, gpus: 1}").size(),
               "inference: {replicas: 2, gpus: 0.5}");
  EXPECT_THAT(refusal(part), HasSubstr("role inference has a part of a device"));
}

TEST(SearchedJob, OneOfSeveralJobsIsNamed) {
  const std::string one = text_of({});
  std::string second = one.substr(one.find("  - name: loop"));
  second.replace(second.find("loop"), 4, "again");
  EXPECT_THAT(refusal(one + second), HasSubstr("2 jobs have a loop"));
  EXPECT_EQ(refusal(one + second, "again"), "");
  EXPECT_EQ(refusal(one + second, "default.loop"), "");
}

TEST(SearchedJob, TheLanguageRefusesUnknownRolesAndOddNumbers) {
  Searched searched;
  searched.search =
      "{group: 7, apart: [[actor]], replicas: {nobody: 1, rollout: 3-2}, micro_batches: [0]}";
  const auto scenario = scenarios::parse_scenario(text_of(searched), "searched.yaml");
  ASSERT_FALSE(scenario);
  std::string all;
  for (const Error& error : scenario.errors()) all += error.text() + "\n";
  EXPECT_THAT(all, HasSubstr("group: is 7, which does not divide the 64 sequences"));
  EXPECT_THAT(all, HasSubstr("apart: is a list, a list of two or more roles of the job"));
  EXPECT_THAT(all, HasSubstr("names 'nobody', which is no role of the job; name one of rollout"));
  EXPECT_THAT(all, HasSubstr("of rollout is '3-2'"));
  EXPECT_THAT(all, HasSubstr("micro_batches: is '0', a whole number from 1"));
}

}  // namespace
}  // namespace orrery::sim
