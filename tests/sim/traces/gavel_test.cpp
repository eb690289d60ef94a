#include "sim/traces/gavel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/traces/shared_trace.hpp"

namespace orrery::sim {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kTable = R"json({
  "v100": {"('A (batch size 2)', 1)": {"null": 4, "('A (batch size 2)', 1)": [2.5, 2.5]},
           "('A (batch size 2)', 2)": {"null": 8.0},
           "('B', 1)": {"null": 0, "('A (batch size 2)', 1)": [0.5, 3],
                        "('A (batch size 2)', 2)": [7, 7], "('C', 1)": [0, 0]}},
  "k80": {"('A (batch size 2)', 1)": {"null": 0.5}}
})json";

DeviceSpeeds table() {
  auto table = parse_gavel_throughputs(kTable, "t.json");
  EXPECT_TRUE(table.has_value());
  return *table;
}

TEST(DeviceSpeeds, SpeedsAloneAreFoundByModelTypeAndSize) {
  const DeviceSpeeds speeds = table();
  EXPECT_EQ(speeds.steps_per_second("v100", "A (batch size 2)", 2), 8.0);
  EXPECT_EQ(speeds.steps_per_second("k80", "A (batch size 2)", 1), 0.5);
  EXPECT_FALSE(speeds.steps_per_second("k80", "A (batch size 2)", 2).has_value());
  EXPECT_FALSE(speeds.steps_per_second("v100", "B", 1).has_value()) << "0 does not fit";
  EXPECT_EQ(speeds.model_names(), "k80, v100");
}

TEST(DeviceSpeeds, PairsAreKnownInBothOrders) {
  using Pair = std::pair<double, double>;
  const DeviceSpeeds speeds = table();
  EXPECT_EQ(speeds.beside("v100", "A (batch size 2)", "A (batch size 2)", 1), Pair(2.5, 2.5));
  EXPECT_EQ(speeds.beside("v100", "B", "A (batch size 2)", 1), Pair(0.5, 3));
  EXPECT_EQ(speeds.beside("v100", "A (batch size 2)", "B", 1), Pair(3, 0.5));
  EXPECT_EQ(speeds.beside("v100", "B", "C", 1), Pair(0, 0)) << "does not fit";
  EXPECT_FALSE(speeds.beside("v100", "B", "A (batch size 2)", 2).has_value());
  EXPECT_FALSE(speeds.beside("k80", "A (batch size 2)", "B", 1).has_value());
}

TEST(DeviceSpeeds, OtherShapesAreErrorsWithTheirLine) {
  const auto errors = [](std::string_view text) {
    const auto table = parse_gavel_throughputs(text, "t.json");
    return table ? std::string() : table.errors()[0].text();
  };
  EXPECT_THAT(errors("{\n\"v100\": 3}"), HasSubstr("t.json:2: throughputs: found a number"));
  EXPECT_THAT(errors("{\"v100\": {\n\n\"A, 1\": {}}}"), HasSubstr("t.json:3: throughputs: found"));
  EXPECT_THAT(errors("{\"v100\": {\"('A', 1)\": {\"null\": -1}}}"), HasSubstr("0 to 1000000000"));
  EXPECT_THAT(errors("{\"v100\": {\"('A', 1)\": {\"('A', 1)\": [1]}}}"),
              HasSubstr("found 1 speeds of a pair"));
  EXPECT_THAT(errors("{\"v100\""), HasSubstr("t.json:1: JSON: found"));
  EXPECT_THAT(errors("[]"), HasSubstr("found a list"));
}

TEST(Gavel, StepsBecomeSecondsOnTheChosenModel) {
  const std::string rows =
      "A (batch size 2)\tcmd -x\tdir\t-s\t1\t400\t2\t3\t-1.0\t10.5\n"
      "A (batch size 2)\tcmd -x\tdir\t-s\t0\t400\t1\t1\t2\t0\n"
      "C\tcmd\tdir\t-s\t0\t400\t1\t1\t-1\t0\n";
  const DeviceSpeeds speeds = table();
  const auto trace = parse_gavel(rows, "jobs.trace", {}, &speeds);
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(2));
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(100));
  EXPECT_EQ(trace->jobs[1].duration, Duration::seconds(50));
  EXPECT_EQ(trace->jobs[1].submit.in_seconds(), 10.5);
  EXPECT_EQ(trace->jobs[1].weight, 3);
  EXPECT_EQ(trace->jobs[1].gpus, 2);
  EXPECT_EQ(trace->jobs[1].kind, "A (batch size 2)");
  EXPECT_EQ(trace->jobs[1].name, "line-1");
  EXPECT_EQ(trace->report.counted(TraceReason::NoThroughput, TraceAction::Dropped), 1U);
  const auto slow = parse_gavel(rows, "jobs.trace", {.device_model = "k80"}, &speeds);
  expect_accounted(slow);
  ASSERT_THAT(slow->jobs, SizeIs(1));
  EXPECT_EQ(slow->jobs[0].duration, Duration::seconds(800));
}

TEST(Gavel, TheOldestLayoutHasArrivalBeforeSize) {
  const DeviceSpeeds speeds = table();
  const auto trace = parse_gavel("A (batch size 2)\tcmd\t-s\t1\t8\t7.0\t2\n", "old", {}, &speeds);
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(1));
  EXPECT_EQ(trace->jobs[0].gpus, 2);
  EXPECT_EQ(trace->origin.in_seconds(), 7);
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(1));
}

TEST(Gavel, ShockwavesLayoutHasDurationsAndNeedsNoTable) {
  const auto trace =
      parse_gavel("LM\tcmd\tdir\t--steps\t1\t134583\t4\tgns\t1\t-1.0\t1418\t55\n", "s", {});
  expect_accounted(trace);
  ASSERT_THAT(trace->jobs, SizeIs(1));
  EXPECT_EQ(trace->jobs[0].duration, Duration::seconds(1418));
  EXPECT_EQ(trace->jobs[0].gpus, 4);
}

TEST(Gavel, StepsWithoutATableAndOtherModelsAreErrors) {
  const auto bare = parse_gavel("A\tcmd\t-s\t1\t8\t7.0\t2\nA\tcmd\t-s\t1\t8\t7.0\t2\n", "old", {});
  ASSERT_FALSE(bare.has_value());
  ASSERT_THAT(bare.errors(), SizeIs(1));
  EXPECT_THAT(bare.errors()[0].text(), HasSubstr("old:1: steps: the trace counts steps"));
  const DeviceSpeeds speeds = table();
  const auto model = parse_gavel("", "old", {.device_model = "h100"}, &speeds);
  ASSERT_FALSE(model.has_value());
  EXPECT_THAT(model.errors()[0].text(), HasSubstr("knows k80, v100"));
}

TEST(Gavel, ThePublicTracesAreReadWhole) {
  const std::string speeds = "gavel/throughputs/simulation_throughputs.json";
  if (!shared_trace(speeds)) GTEST_SKIP() << "the traces are not at ../shared/traces/gavel";
  for (const auto& [name, jobs] :
       {std::pair("gavel/traces/physical_cluster/artifact_evaluation.trace", 15U),
        std::pair("gavel/traces/physical_cluster/max_min_fairness.trace", 96U),
        std::pair("gavel/traces/physical_cluster/minimize_makespan.trace", 100U),
        std::pair("gavel/traces/msr_seed0/ed69ec.trace", 951U),
        std::pair("gavel/shockwave_tacc32/120_multigpu_dynamic.trace", 120U)}) {
    const auto trace = read_shared(name, {}, speeds);
    expect_accounted(trace);
    EXPECT_EQ(trace->report.format, "gavel");
    EXPECT_EQ(trace->jobs.size(), jobs) << name;
    EXPECT_EQ(trace->report.dropped(), 0U) << name;
  }
}

TEST(DeviceSpeeds, ThePublicTablesHaveTheSizesOfTheirDescription) {
  for (const std::string name : {"gavel/throughputs/simulation_throughputs.json",
                                 "gavel/throughputs/physical_cluster_throughputs.json",
                                 "gavel/shockwave_tacc32/tacc_throughputs.json"}) {
    const auto text = shared_trace(name);
    if (!text) GTEST_SKIP() << "the tables are not at ../shared/traces/gavel";
    const auto table = parse_gavel_throughputs(*text, name);
    ASSERT_TRUE(table.has_value()) << table.errors()[0].text();
    const std::map<std::string, std::size_t> wanted = {{"k80", 83},
                                                       {"k80_unconsolidated", 77},
                                                       {"p100", 83},
                                                       {"p100_unconsolidated", 83},
                                                       {"v100", 83},
                                                       {"v100_unconsolidated", 83}};
    EXPECT_EQ(table->sizes(), wanted);
  }
}

}  // namespace
}  // namespace orrery::sim
