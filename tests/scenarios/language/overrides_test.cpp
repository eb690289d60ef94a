#include "scenarios/language/yaml/overrides.hpp"

#include <gmock/gmock.h>

#include "scenarios/language/jobs/job_file.hpp"
#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kText = with_cluster("policy: easy\njobs: [{name: a, work: 60s}]\n");

TEST(Overrides, ReplaceWhatTheFileSays) {
  const Scenario scenario = load(kText, {{"cluster.nodes", "7"}, {"jobs[0].priority", "high"}});
  EXPECT_EQ(scenario.groups[0].count, 7);
  EXPECT_EQ(scenario.jobs[0].spec.priority, 100);
}

TEST(Overrides, AddWhatTheFileLeavesOut) {
  const Scenario scenario = load(kText, {{"timing.start", "5s"}, {"jobs[1]", "{name: b}"}});
  EXPECT_EQ(scenario.timing.start, Duration::seconds(5));
  EXPECT_EQ(scenario.jobs[1].spec.name, "default.b");
}

TEST(Overrides, AnotherWorldComesWithALevelThatItHas) {
  const std::string text = with_cluster("jobs: [{name: a}]\nfidelity: L1\n");
  EXPECT_EQ(load(text, {{"world", "sim"}}).fidelity, Fidelity::L2);
  EXPECT_EQ(load(text, {{"world", "model"}}).fidelity, Fidelity::L1);
  EXPECT_EQ(load(text, {{"world", "sim"}, {"fidelity", "L3"}}).fidelity, Fidelity::L3);
  EXPECT_EQ(errors_of(text, {{"world", "sim"}, {"fidelity", "L0"}}).size(), 1u);
  EXPECT_EQ(errors_of(text + "world: sim\n").size(), 1u);
}

TEST(Overrides, APolicyNameTakesParameters) {
  const Scenario scenario = load(kText, {{"policy.backfill_depth", "10"}});
  EXPECT_EQ(scenario.policy.name, "easy");
  ASSERT_EQ(scenario.policy.parameters.size(), 1U);
  EXPECT_EQ(scenario.policy.parameters[0].key, "backfill_depth");
  EXPECT_EQ(scenario.policy.parameters[0].value, "10");
  EXPECT_EQ(scenario.policy.parameters[0].place, "--set policy.backfill_depth=10");
}

TEST(Overrides, ThePolicyThatNobodyNamesTakesParameters) {
  const std::string text = with_cluster("jobs: [{name: a, work: 60s}]\n");
  const Scenario scenario = load(text, {{"policy.quantum", "10s"}});
  EXPECT_EQ(scenario.policy.name, "fifo");
  ASSERT_EQ(scenario.policy.parameters.size(), 1U);
  EXPECT_EQ(scenario.policy.parameters[0].key, "quantum");
  EXPECT_EQ(load(text, {{"policy.quantum", "10s"}, {"policy.name", "las"}}).policy.name, "las");
}

TEST(Overrides, TheirErrorsNameThemAndComeLast) {
  EXPECT_THAT(errors_of("seed: x\n" + kText, {{"cluster.nodes", "none"}}),
              ElementsAre(HasSubstr("test.yaml:1: seed: is 'x'"),
                          "--set cluster.nodes=none: cluster.nodes: is 'none', a whole number "
                          "from 1 to 1048576 is needed; correct it"));
  EXPECT_THAT(errors_of(kText, {{"cluster.nods", "8"}}),
              ElementsAre(HasSubstr("--set cluster.nods=8: cluster.nods: is no key here, the "
                                    "nearest is 'nodes'")));
}

TEST(Overrides, TheyAreTheirPlaceInWhatOnlyTheWholeJobShows) {
  const std::string text = with_cluster("jobs:\n  - {name: a, replicas: 1, work: 60s}\n");
  EXPECT_THAT(errors_of(text, {{"jobs[0].name", "UPPER"}}),
              ElementsAre(StartsWith("--set jobs[0].name=UPPER: ")));
  EXPECT_THAT(errors_of(text, {{"jobs[0].labels", "{a b: c}"}}),
              ElementsAre(StartsWith("--set jobs[0].labels={a b: c}: ")));
  EXPECT_THAT(errors_of(text, {{"jobs[0].replicas", "{min: 3, max: 2}"}}),
              ElementsAre(StartsWith("--set jobs[0].replicas={min: 3, max: 2}: ")));
  EXPECT_THAT(errors_of(text, {{"jobs[0].replicas", "1000001"}}),
              ElementsAre(HasSubstr("a whole number from 1 to 1000000 is needed")));
  JobFileOptions options;
  options.overrides = {{"env", "{\"X=Y\": z}"}};
  const auto file = parse_job_file("name: a\ncommand: [x]\n", "e.yaml", options);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.errors().front().text(), StartsWith("--set env={\"X=Y\": z}: "));
  const auto roles =
      parse_job_file("name: a\nroles:\n  b: {command: [x]}\n  c: {command: [x]}\n", "e.yaml", [] {
        JobFileOptions out;
        out.overrides = {{"roles.c.replicas", "{min: 3, max: 2}"}};
        return out;
      }());
  ASSERT_FALSE(roles);
  EXPECT_THAT(roles.errors().front().text(), StartsWith("--set roles.c.replicas="));
}

TEST(Overrides, WhatIsTooLargeIsToldSo) {
  EXPECT_THAT(errors_of(kText, {{"jobs[0].work", "{units: 1e300}"}}),
              Contains(HasSubstr("a number of at most 1e+")));
  EXPECT_THAT(errors_of(kText, {{"jobs[0].memory", "99999999TiB"}}),
              ElementsAre(HasSubstr("below 8,388,608 TiB is needed")));
}

TEST(Overrides, PathsThatLeadNowhereAreRefused) {
  EXPECT_THAT(errors_of(kText, {{"jobs[5].priority", "1"}}),
              ElementsAre(HasSubstr("has no element 5, it is a list of 1")));
  EXPECT_THAT(errors_of(kText, {{"seed.low", "1"}, {"a..b", "1"}, {"jobs[x]", "1"}}).size(), 3U);
  EXPECT_FALSE(parse_override("seed").has_value());
  EXPECT_EQ(parse_override("a.b=c=d")->value, "c=d");
}

}  // namespace
}  // namespace orrery::scenarios
