// Layers of variables: which one wins, what is joined, what is reported.
#include "core/workers/environment_merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.hpp"

namespace orrery::workers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string told(const WorkerEnvironment& environment) {
  std::string out;
  for (const KeyValue& variable : environment.variables)
    out.append(out.empty() ? "" : " ").append(variable.key).append("=").append(variable.value);
  return out;
}

std::vector<std::string> notes(const WorkerEnvironment& environment) {
  std::vector<std::string> out;
  for (const EnvironmentNote& note : environment.notes) out.push_back(note.message());
  return out;
}

WorkerEnvironment merge(std::vector<LayerEntry> entries,
                        std::vector<std::string_view> reserved = {},
                        std::vector<std::string_view> kept_out = {}) {
  return merge_environment({std::move(entries), std::move(reserved), std::move(kept_out)});
}

TEST(EnvironmentMerge, TheLaterLayerWins) {
  std::vector<LayerEntry> entries;
  std::string wanted;
  for (std::size_t i = 0; i < EnumNames<Layer>::kNames.size(); ++i) {
    const Layer layer{static_cast<std::uint8_t>(i)};
    // V<i> is given by layer i and all before it.
    for (std::size_t v = i; v < EnumNames<Layer>::kNames.size(); ++v)
      if (layer != Layer::Computed && layer != Layer::Override)
        entries.push_back({layer, {"V" + std::to_string(v), std::to_string(i)}});
  }
  EXPECT_EQ(told(merge(entries)), "V0=0 V1=1 V2=2 V3=3 V4=4 V5=5 V6=5 V7=5");
  EXPECT_EQ(told(merge({{Layer::User, {"A", "1"}}, {Layer::User, {"A", "2"}}})), "A=2");
}

TEST(EnvironmentMerge, ComputedVariablesStandAndTheirAuthorIsNotified) {
  const WorkerEnvironment found = merge({{Layer::Node, {"RANK", "9"}},
                                         {Layer::Driver, {"RANK", "8"}},
                                         {Layer::User, {"RANK", "7"}},
                                         {Layer::NodeGroup, {"WORLD_SIZE", "4"}},
                                         {Layer::Computed, {"RANK", "0"}},
                                         {Layer::Computed, {"WORLD_SIZE", "2"}}});
  EXPECT_EQ(told(found), "RANK=0 WORLD_SIZE=2");
  EXPECT_THAT(notes(found),
              ElementsAre("user variable RANK: found '7', used '0': it identifies the worker; "
                          "leave it out",
                          "node group variable WORLD_SIZE: found '4', used '2': it identifies "
                          "the worker; leave it out"));
  EXPECT_THAT(merge({{Layer::User, {"RANK", "0"}}, {Layer::Computed, {"RANK", "0"}}}).notes,
              IsEmpty());
}

TEST(EnvironmentMerge, ReservedNamesAreTakenOutAlsoWhereNothingIsComputed) {
  const WorkerEnvironment found = merge({{Layer::Node, {"ROCR_VISIBLE_DEVICES", "0"}},
                                         {Layer::User, {"ROCR_VISIBLE_DEVICES", "1"}},
                                         {Layer::Override, {"MASTER_PORT", "1500"}}},
                                        {"MASTER_PORT", "ROCR_VISIBLE_DEVICES"});
  EXPECT_EQ(told(found), "MASTER_PORT=1500");
  EXPECT_THAT(notes(found),
              ElementsAre("user variable ROCR_VISIBLE_DEVICES: found '1', used '': it identifies "
                          "the worker; leave it out"));
}

TEST(EnvironmentMerge, LaunchersAroundTheDaemonAreForgotten) {
  const WorkerEnvironment found = merge({{Layer::Node, {"SLURM_PROCID", "3"}},
                                         {Layer::Driver, {"SLURM_JOB_ID", "12"}},
                                         {Layer::Node, {"HOME", "/h"}},
                                         {Layer::User, {"SLURM_JOB_ID", "wanted"}}},
                                        {},
                                        {"SLURM_"});
  EXPECT_EQ(told(found), "HOME=/h SLURM_JOB_ID=wanted");
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST(EnvironmentMerge, OverridesWinAndTheirEffectOnComputedVariablesIsListed) {
  const WorkerEnvironment found = merge({{Layer::Computed, {"LOCAL_RANK", "0"}},
                                         {Layer::Override, {"LOCAL_RANK", "3"}},
                                         {Layer::Override, {"VLLM_CACHE_ROOT", "c_1"}}});
  EXPECT_EQ(told(found), "LOCAL_RANK=3 VLLM_CACHE_ROOT=c_1");
  EXPECT_THAT(notes(found),
              ElementsAre("computed variable LOCAL_RANK: found '0', used '3': the worker's own "
                          "configuration demands it"));
}

TEST(EnvironmentMerge, PathsAreJoinedInFrontAndStayOnce) {
  EXPECT_EQ(joined_paths("/a:/b", "/b:/c:/a"), "/a:/b:/c");
  EXPECT_EQ(joined_paths(":/a::", "/b:"), "/a:/b");
  EXPECT_EQ(joined_paths("", "/b"), "/b");
  EXPECT_EQ(joined_paths("", ""), "");
  const std::vector<LayerEntry> entries{{Layer::Node, {"PATH", "/usr/bin:/bin"}},
                                        {Layer::User, {"PATH", "/opt/bin:/bin"}},
                                        {Layer::NodeGroup, {"PATH", "/node/bin"}},
                                        {Layer::Node, {"PYTHONPATH", "/p::/p"}},
                                        {Layer::Node, {"OTHER", "/a"}},
                                        {Layer::User, {"OTHER", "/b"}}};
  EXPECT_EQ(told(merge(entries)),
            "OTHER=/b PATH=/node/bin:/opt/bin:/bin:/usr/bin PYTHONPATH=/p::/p")
      << "a list without additions is left as it is";
}

TEST(EnvironmentMerge, PathsReplaceEachOtherWhereThatIsAskedFor) {
  std::vector<LayerEntry> entries{{Layer::Node, {"PATH", "/usr/bin"}},
                                  {Layer::User, {"PATH", "/opt/bin"}},
                                  {Layer::Driver, {"RLINF_PATH_ENV_MERGE_MODE", "override"}}};
  EXPECT_EQ(told(merge(entries)), "PATH=/opt/bin RLINF_PATH_ENV_MERGE_MODE=override");
  entries.push_back({Layer::User, {"RLINF_PATH_ENV_MERGE_MODE", "append"}});
  EXPECT_EQ(told(merge(entries)), "PATH=/opt/bin:/usr/bin RLINF_PATH_ENV_MERGE_MODE=append");
  entries.push_back({Layer::NodeGroup, {"RLINF_PATH_ENV_MERGE_MODE", "both"}});
  const WorkerEnvironment found = merge(entries);
  EXPECT_EQ(told(found), "PATH=/opt/bin:/usr/bin RLINF_PATH_ENV_MERGE_MODE=append");
  EXPECT_THAT(notes(found),
              ElementsAre("node group variable RLINF_PATH_ENV_MERGE_MODE: found 'both', needed "
                          "append or override; used 'append'"));
}

TEST(EnvironmentMerge, WhatIsNoVariableIsLeftOutAndTold) {
  const WorkerEnvironment found = merge({{Layer::User, {"", "1"}},
                                         {Layer::User, {"A=B", "1"}},
                                         {Layer::User, {"ZERO", std::string("a\0b", 3)}},
                                         {Layer::Node, {"", "of the daemon"}},
                                         {Layer::User, {"GOOD", "a=b"}}});
  EXPECT_EQ(told(found), "GOOD=a=b");
  EXPECT_EQ(notes(found).size(), 3U);
  EXPECT_EQ(notes(found)[1],
            "user variable A=B: found '1', needed a name without '=' and no zero byte; it is left "
            "out, rename it");
}

std::vector<LayerEntry> random_entries(Random& random) {
  const std::vector<std::string> names{"A", "B", "PATH", "PYTHONPATH", "RANK", "SLURM_ID"};
  std::vector<LayerEntry> out;
  for (std::size_t i = 0; i < EnumNames<Layer>::kNames.size(); ++i)
    for (const std::string& name : names)
      if (random.chance(0.4))
        out.push_back(
            {Layer{static_cast<std::uint8_t>(i)}, {name, "/" + std::to_string(random.below(4))}});
  return out;
}

/// The value that a layer gives to RANK; null where it gives none.
const std::string* rank_of(const std::vector<LayerEntry>& entries, Layer layer) {
  for (const LayerEntry& entry : entries)
    if (entry.layer == layer && entry.variable.key == "RANK") return &entry.variable.value;
  return nullptr;
}

TEST(EnvironmentMergeProperty, TheOrderOfDifferentNamesAndLayersChangesNothing) {
  const std::uint64_t seed = 5150;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<LayerEntry> entries = random_entries(random);
    const WorkerEnvironment first = merge(entries, {"RANK"}, {"SLURM_"});
    random.shuffle(entries);
    const WorkerEnvironment again = merge(entries, {"RANK"}, {"SLURM_"});
    EXPECT_EQ(first.variables, again.variables);
    EXPECT_EQ(first.notes, again.notes);
    for (std::size_t i = 1; i < first.variables.size(); ++i)
      EXPECT_LT(first.variables[i - 1].key, first.variables[i].key);
    const std::string* computed = rank_of(entries, Layer::Computed);
    const std::string* wanted = rank_of(entries, Layer::Override);
    if (wanted == nullptr) wanted = computed;
    const std::string* found = first.find("RANK");
    ASSERT_EQ(found == nullptr, wanted == nullptr) << "no other layer may give it";
    if (found != nullptr) {
      EXPECT_EQ(*found, *wanted);
    }
  }
}

}  // namespace
}  // namespace orrery::workers
