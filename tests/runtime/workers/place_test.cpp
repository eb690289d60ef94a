// Where a worker finds itself, and what it says where the environment makes no sense.
#include "runtime/workers/place.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "runtime/workers/checkpoint.hpp"
#include "runtime/workers/option_rows.hpp"
#include "runtime/workers/options.hpp"
#include "tests/runtime/workers/child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::worker {
namespace {

Environment of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto at = values.find(std::string(name));
    if (at == values.end()) return std::nullopt;
    return at->second;
  };
}

TEST(PlaceTest, WithoutAnyVariableAWorkerIsAlone) {
  const auto start = start_of(of({}));
  ASSERT_TRUE(start);
  EXPECT_EQ(start->place.world_size, 1);
  EXPECT_EQ(start->place.generation, 1u);
  EXPECT_TRUE(start->socket.empty());
}

TEST(PlaceTest, OwnVariablesWinOverTorchs) {
  const auto start = start_of(of({{"ORRERY_JOB", "default.a"},
                                  {"ORRERY_RANK", "2"},
                                  {"ORRERY_WORLD_SIZE", "4"},
                                  {"ORRERY_GENERATION", "7"},
                                  {"ORRERY_INCARNATION", "9"},
                                  {"RANK", "0"},
                                  {"WORLD_SIZE", "1"},
                                  {"MASTER_ADDR", "10.0.0.1"},
                                  {"MASTER_PORT", "22271"}}));
  ASSERT_TRUE(start);
  EXPECT_EQ(start->place.rank, 2);
  EXPECT_EQ(start->place.world_size, 4);
  EXPECT_EQ(start->place.generation, 7u);
  EXPECT_EQ(start->place.master_port, 22271);
  EXPECT_EQ(start->worker, "default.a-9-2");
}

TEST(PlaceTest, AllThatIsWrongIsTold) {
  const auto start = start_of(
      of({{"ORRERY_RANK", "5"}, {"ORRERY_WORLD_SIZE", "2"}, {"ORRERY_GENERATION", "one"}}));
  ASSERT_FALSE(start);
  std::string all;
  for (const Error& error : start.errors()) all += error.text() + "\n";
  EXPECT_EQ(start.errors().size(), 3u) << all;
  EXPECT_NE(all.find("ORRERY_GENERATION: \"one\", needs a whole number"), std::string::npos) << all;
  EXPECT_NE(all.find("MASTER_PORT: is not set, and 2 workers"), std::string::npos) << all;
  EXPECT_NE(all.find("ORRERY_RANK: 5 is not below ORRERY_WORLD_SIZE, 2"), std::string::npos) << all;
}

TEST(OptionsTest, AllThatIsWrongIsTold) {
  const std::vector<const char*> arguments{
      "--size", "0", "--backend=mpi", "--json=1", "--stop", "--step-time-min", "5 days"};
  const auto options = options_of(arguments);
  ASSERT_FALSE(options);
  EXPECT_EQ(options.errors().size(), 5u);
}

TEST(OptionsTest, TimesHaveUnits) {
  EXPECT_EQ(*time_of("250ms"), Milliseconds(250));
  EXPECT_EQ(*time_of("1.5s"), Milliseconds(1500));
  EXPECT_EQ(*time_of("2m"), Milliseconds(120'000));
  for (const char* text : {"", "5", "-1s", "nans", "1e9m", "1h"})
    EXPECT_FALSE(time_of(text)) << text;
}

TEST(CheckpointTest, WhatWasWrittenIsRead) {
  const TemporaryFolder folder;
  const std::string file = folder.file("steps.txt");
  EXPECT_EQ(*read_checkpoint(file), 0);
  ASSERT_TRUE(write_checkpoint(file, 41, 0));
  ASSERT_TRUE(write_checkpoint(file, 42, 1));
  EXPECT_EQ(*read_checkpoint(file), 42);
}

TEST(CheckpointTest, SomethingElseIsRefused) {
  const TemporaryFolder folder;
  const std::string file = folder.file("steps.txt");
  for (const std::string text : {"", "x", "-1", "12 13", "1.5"}) {
    std::ofstream(file, std::ios::trunc) << text;
    const auto step = read_checkpoint(file);
    ASSERT_FALSE(step) << text;
    EXPECT_TRUE(step.errors().front().text().starts_with(file + ":1: checkpoint: "));
  }
}

TEST(CheckpointTest, AFolderThatIsNotThereIsAnError) {
  const TemporaryFolder folder;
  EXPECT_FALSE(write_checkpoint(folder.file("none/steps.txt"), 1, 0));
}

}  // namespace
}  // namespace orrery::worker
