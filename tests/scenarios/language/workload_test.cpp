#include <gmock/gmock.h>

#include "tests/scenarios/language/loading.hpp"

namespace orrery::scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Scenario load_workload(std::string_view workload, const std::vector<Override>& overrides = {}) {
  auto scenario = parse_scenario(
      with_cluster("seed: 9\nworkload: " + std::string(workload)), "some/dir/w.yaml", overrides);
  if (scenario) return *std::move(scenario);
  for (const Error& error : scenario.errors()) ADD_FAILURE() << error.text();
  return {};
}

TEST(Workloads, PathsOfTheFileAreRelativeToItAndThoseOfOverridesAreNot) {
  const Scenario scenario =
      load_workload("{format: pollux, file: w.csv, profiles: p}", {{"workload.profiles", "q"}});
  const auto& pollux = std::get<PolluxWorkload>(scenario.workload);
  EXPECT_EQ(pollux.file, "some/dir/w.csv");
  EXPECT_EQ(pollux.profiles, "q");
}

TEST(Workloads, ProfilesMayBeOfEachDeviceModel) {
  const auto scenario = parse_scenario(
      "cluster: {groups: [{nodes: 1, gpu: old}, {nodes: 1, gpus_per_node: 0}, {nodes: 1, gpu: "
      "new}]}\nworkload: {format: pollux, file: w.csv, profiles_by_model: {old: p/old, new: "
      "/p/new, none: p}}\n",
      "some/dir/w.yaml",
      {});
  ASSERT_TRUE(scenario.has_value()) << scenario.errors()[0].text();
  const auto& pollux = std::get<PolluxWorkload>(scenario->workload);
  EXPECT_EQ(pollux.profiles, "");
  EXPECT_EQ(pollux.profiles_by_model,
            (std::map<std::string, std::string>{
                {"new", "/p/new"}, {"none", "some/dir/p"}, {"old", "some/dir/p/old"}}));
}

TEST(Workloads, PhillyHasItsSwitches) {
  const Scenario scenario = load_workload(
      "{format: philly-json, file: /w.json, limit: 5, duplicates: drop, estimates: none, "
      "preemptible: false}");
  const auto& philly = std::get<TraceWorkload>(scenario.workload);
  EXPECT_EQ(philly.format->name, "philly-json");
  EXPECT_EQ(philly.file, "/w.json");
  EXPECT_EQ(philly.limit, 5);
  EXPECT_EQ(philly.duplicates, OddRows::Drop);
  EXPECT_EQ(philly.estimates, TraceEstimates::None);
  EXPECT_FALSE(philly.preemptible);
}

TEST(Workloads, EveryFormatOfTracesIsReadAlike) {
  for (const TraceFormat& format : kTraceFormats) {
    const Scenario scenario = load_workload("{format: " + std::string(format.name) +
                                            ", file: j, zero_gpus: drop, censored: keep, "
                                            "host_resources: false}");
    const auto& trace = std::get<TraceWorkload>(scenario.workload);
    EXPECT_EQ(trace.format, &format);
    EXPECT_EQ(trace.file, "some/dir/j");
    EXPECT_EQ(trace.zero_gpus, OddRows::Drop);
    EXPECT_EQ(trace.censored, OddRows::Keep);
    EXPECT_FALSE(trace.host_resources);
  }
}

TEST(Workloads, JobsThatFillTheClusterHaveNoTimes) {
  const Scenario scenario = load_workload("{format: openb, file: j, fill: 1.3}");
  const auto& trace = std::get<TraceWorkload>(scenario.workload);
  EXPECT_EQ(trace.fill, 1.3);
  EXPECT_EQ(trace.censored, OddRows::Keep);
  EXPECT_EQ(trace.estimates, TraceEstimates::None);
  EXPECT_EQ(scenario.until, Instant::zero() + kFillLasts);
  EXPECT_THAT(errors_of(with_cluster("workload: {format: openb, file: j, fill: 0}\n")),
              ElementsAre(HasSubstr("workload.fill: is 0, more is needed")));
  EXPECT_THAT(
      errors_of(with_cluster("workload: {format: openb, file: j, fill: 2, limit: 5}\n")),
      ElementsAre(HasSubstr("workload.limit: has no meaning for jobs that fill the cluster")));
  EXPECT_THAT(errors_of(with_cluster("workload: {generator: {jobs: 5}, fill: 2}\n")),
              ElementsAre(HasSubstr("workload.fill: has no meaning for a generator")));
}

TEST(Workloads, GavelHasATableOfSpeeds) {
  const Scenario scenario =
      load_workload("{format: gavel, file: j.trace, throughputs: t.json, speeds_of: k80}");
  const auto& trace = std::get<TraceWorkload>(scenario.workload);
  EXPECT_EQ(trace.throughputs, "some/dir/t.json");
  EXPECT_EQ(trace.speeds_of, "k80");
}

TEST(Workloads, AGeneratorTakesSeedAndSizeOfTheScenario) {
  const Scenario scenario =
      load_workload("{generator: {preset: philly-like, jobs: 10, arrivals: {load: 1.1}}}");
  const auto& generator = std::get<GeneratorWorkload>(scenario.workload);
  EXPECT_EQ(generator.spec.seed, 9U);
  EXPECT_EQ(generator.spec.jobs, 10U);
  EXPECT_EQ(generator.spec.arrivals.cluster_gpus, 8);
  EXPECT_EQ(generator.spec.arrivals.load, 1.1);
  EXPECT_EQ(generator.spec.gpu_mix.size(), 8U);
  EXPECT_FALSE(generator.own_seed);
}

TEST(Workloads, AGeneratorCanBeDescribedInFull) {
  const Scenario scenario = load_workload(R"(
  generator:
    jobs: 100
    seed: 4
    arrivals: {jobs_per_hour: 60, amplitude: 0.5, period: 12h, peak_at: 6h}
    duration:
      mixture: [{weight: 3, lognormal: {median: 20min, sigma: 1.8}}, {weight: 1, fixed: 5min}]
      longest: 10d
    gpu_mix: [{gpus: 1, weight: 3}, {gpus: 8, duration: {pareto: {shape: 1.1, low: 1h, high: 2d}}}]
    preemptible_share: 0.5
    elastic_share: 0.5
    estimate: {uniform: {low: 0.5, high: 3}}
    users: 10
    user_skew: 1.2
)");
  const auto& spec = std::get<GeneratorWorkload>(scenario.workload).spec;
  EXPECT_EQ(spec.seed, 4U);
  EXPECT_EQ(spec.duration.parts.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<FixedDuration>(spec.duration.parts[1].shape));
  EXPECT_TRUE(
      std::holds_alternative<BoundedParetoDuration>(spec.gpu_mix[1].duration->parts[0].shape));
  EXPECT_TRUE(std::holds_alternative<UniformEstimate>(spec.estimate));
}

TEST(Workloads, ErrorsOfTheWholeGeneratorPointAtTheirLine) {
  EXPECT_THAT(errors_of(with_cluster("workload:\n  generator:\n    jobs: 5\n    arrivals:\n"
                                     "      load: 1\n      jobs_per_hour: 3\n"
                                     "    users: 2\n    user_skew: -1\n")),
              ElementsAre(HasSubstr("test.yaml:5: workload.generator.arrivals"),
                          HasSubstr("test.yaml:9: workload.generator.user_skew")));
  EXPECT_THAT(errors_of(with_cluster("workload: {generator: {preset: phily}}")),
              ElementsAre(HasSubstr("one of philly-like is needed")));
}

}  // namespace
}  // namespace orrery::scenarios
