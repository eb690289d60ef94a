#include "tools/sweep/sweep_file.hpp"

#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

SweepFile read(const std::string& text) {
  auto sweep = read_sweep(text, "studies/load.yaml");
  EXPECT_TRUE(sweep) << sweep.errors()[0].text();
  return sweep ? std::move(*sweep) : SweepFile{};
}

std::vector<std::string> labels(const SweepPoint& point) {
  std::vector<std::string> out;
  for (const auto& setting : point) out.push_back(setting ? setting->label : "-");
  return out;
}

TEST(SweepFile, AGridIsEveryCombinationTheFirstParameterSlowest) {
  const SweepFile sweep = read("scenario: ../q.yaml\ngrid:\n  a.b: [1, x]\n  c: [2s, 3s]\n");
  EXPECT_EQ(sweep.name, "load");
  EXPECT_EQ(sweep.scenario, "q.yaml");
  EXPECT_EQ(sweep.parameters, (std::vector<std::string>{"a.b", "c"}));
  ASSERT_EQ(sweep.points.size(), 4U);
  EXPECT_EQ(labels(sweep.points[1]), (std::vector<std::string>{"1", "3s"}));
  EXPECT_EQ(labels(sweep.points[2]), (std::vector<std::string>{"x", "2s"}));
  EXPECT_EQ(sweep.points[2][0]->line, 3);
}

TEST(SweepFile, PointsOfAListMayLeaveParametersAlone) {
  const SweepFile sweep = read("scenario: q.yaml\nlist:\n- {a: 1}\n- {b: 2, a: 3}\n- {}\n");
  EXPECT_EQ(sweep.parameters, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(labels(sweep.points[0]), (std::vector<std::string>{"1", "-"}));
  EXPECT_EQ(labels(sweep.points[1]), (std::vector<std::string>{"3", "2"}));
  EXPECT_EQ(labels(sweep.points[2]), (std::vector<std::string>{"-", "-"}));
}

TEST(SweepFile, ValuesOfAnyShapeAreYamlAgain) {
  const SweepFile sweep = read(
      "scenario: q.yaml\ngrid:\n  a:\n  - {min: 1, names: [x, \"7\", 'it''s']}\n  - null\n"
      "  - \"2\"\n  - plain words\n");
  const auto value = [&](std::size_t point) { return sweep.points[point][0]->override.value; };
  EXPECT_EQ(value(0), R"({"min": 1, "names": [x, "7", "it's"]})");
  EXPECT_EQ(value(1), "null");
  EXPECT_EQ(value(2), R"("2")");
  EXPECT_EQ(sweep.points[2][0]->label, "2");
  EXPECT_EQ(value(3), "plain words");
}

TEST(SweepFile, CellsAreCountedThroughPointsPoliciesAndSeeds) {
  const SweepFile sweep = read(
      "scenario: q.yaml\ngrid: {a: [1, 2]}\npolicies: [fifo, {name: easy, depth: 4}]\nseeds: 5..7\n"
      "set: {z: 9}\n");
  const std::vector<SweepCell> cells = cells_of(sweep);
  ASSERT_EQ(cells.size(), 12U);
  EXPECT_EQ(cells[10].number, 11U);
  EXPECT_EQ(cells[10].point, 1U);
  EXPECT_EQ(cells[10].policy, 1U);
  EXPECT_EQ(cells[10].seed, 6U);
  EXPECT_EQ(words_of(sweep, cells[10]), "a=2, policy easy depth=4, seed 6");
  EXPECT_EQ(command_of(sweep, cells[10]),
            "orrery sim studies/q.yaml --set 'policy={\"name\": easy, \"depth\": 4}' --set z=9 "
            "--set a=2 --seed 6");
}

TEST(SweepFile, APolicyInPlaceOfAListIsOneError) {
  const auto sweep = read_sweep("scenario: q.yaml\npolicies: fifo\ngrid: {a: [1]}\n", "s.yaml");
  ASSERT_FALSE(sweep);
  EXPECT_EQ(sweep.errors().size(), 1U);
}

TEST(SweepFile, ARangeOfSeedsIsRefusedForWhatIsWrongWithIt) {
  const auto text_of = [](const std::string& seeds) {
    const auto sweep =
        read_sweep("scenario: q.yaml\ngrid: {a: [1]}\nseeds: " + seeds + "\n", "s.yaml");
    return sweep ? "" : sweep.errors().front().text();
  };
  EXPECT_EQ(text_of("1..200000"),
            "s.yaml:3: seeds: \"1..200000\" is more than 100000 seeds; take fewer");
  EXPECT_EQ(text_of("3..1"),
            "s.yaml:3: seeds: \"3..1\" counts downwards, needed the lower seed first; write 1..3");
  EXPECT_EQ(
      text_of("some"),
      "s.yaml:3: seeds: is 'some', a range or a list of seeds is needed; write 1..10 or [1, 2]");
}

TEST(SweepFile, AllErrorsAreToldWithTheirLines) {
  const auto sweep = read_sweep(
      "seeds: [1, 1, x]\npolicies: [[fifo]]\nset: 3\ngrid:\n  a: [1]\n  a.b: [2]\n  c: []\n",
      "s.yaml");
  ASSERT_FALSE(sweep);
  std::vector<std::string> places;
  for (const Error& error : sweep.errors())
    places.push_back(std::to_string(error.line) + " " + error.subject);
  EXPECT_EQ(places,
            (std::vector<std::string>{
                "1 scenario", "1 seeds", "1 seeds", "2 policies", "3 set", "6 grid", "7 grid: c"}));
}

TEST(SweepFile, WhatMeetsIsAPathAndWhatLiesBelowIt) {
  for (const char* text :
       {"{a: [1], 'a[0]': [1]}", "{'a[0].b': [1], a: [1]}", "{a.b: [1], a: [1]}"})
    EXPECT_FALSE(read_sweep(std::string("scenario: q\ngrid: ") + text, "s.yaml")) << text;
  EXPECT_TRUE(read_sweep("scenario: q\ngrid: {a: [1], ab: [1], b.a: [1]}", "s.yaml"));
}

TEST(SweepFile, AScenarioIsNoSweep) {
  EXPECT_TRUE(is_sweep("scenario: q.yaml\nlist: [{}]\n"));
  EXPECT_FALSE(is_sweep("cluster: {nodes: 1}\njobs: []\n"));
  EXPECT_TRUE(is_sweep("scenario: q.yaml\n")) << "which lacks a grid, and is told so";
  EXPECT_FALSE(is_sweep("name: q\ncommand: [run]\n"));
  EXPECT_FALSE(is_sweep("- scenario"));
  EXPECT_FALSE(is_sweep("{"));
}

}  // namespace
}  // namespace orrery::cli
