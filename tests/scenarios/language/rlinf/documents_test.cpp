// Our own documents in RLinf's form, as its programs would find them: composed of files, without
// nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/base/enum_names.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/rlinf/inventory_words.hpp"

namespace orrery::scenarios {
namespace documents_tests {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFolder = std::string(ORRERY_SOURCE_ROOT) + "/docs/examples/rlinf/";

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The document on nodes; as the first lines of what a reader would see: mode and components.
struct Placed {
  std::vector<std::string> findings;
  std::string mode;
  std::map<std::string, std::size_t> processes;
  std::map<std::string, std::size_t> devices;  ///< Of a process.
};

Placed placed(const std::string& name,
              std::string_view nodes,
              const std::vector<std::string>& overrides = {},
              const std::map<std::string, std::string>& set = {}) {
  PlacementContext context;
  context.path = kFolder + name;
  context.sources.read = text_of;
  context.sources.overrides = overrides;
  context.sources.variable = [&](const std::string& variable) -> std::optional<std::string> {
    const auto found = set.find(variable);
    if (found == set.end()) return std::nullopt;
    return found->second;
  };
  context.nodes = inventory_of_words(nodes).value();
  const PlacementDocument document = read_placement_document(
      text_of(context.path).value_or(""), PlacementMode::AsWritten, context);
  const PlacementAnswer answer = resolve_placement_document(document);
  Placed out;
  for (const PlacementFinding& finding : answer.findings) out.findings.push_back(finding.message);
  out.mode = to_string(answer.plan.mode);
  for (const placement::ComponentPlan& component : answer.plan.components) {
    out.processes[component.name] = component.processes.size();
    out.devices[component.name] = component.processes.front().devices.size();
  }
  return out;
}

TEST(RlinfDocuments, AnEmbodiedOneTakesItsSimulatorsFromTheSearchPath) {
  const Placed found = placed(
      "embodiment/config/maze_ppo.yaml", "8xH100", {}, {{"EMBODIED_PATH", kFolder + "embodiment"}});
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.mode, "hybrid");
  EXPECT_EQ(found.processes.at("actor"), 8u);
  EXPECT_EQ(found.processes.at("env"), 4u);
  // Beside the document they are found without the variable.
  EXPECT_THAT(placed("embodiment/config/maze_ppo.yaml", "8xH100").findings, IsEmpty());
}

TEST(RlinfDocuments, ACollocatedOneTakesItsSizesFromFilesAndFunctions) {
  const Placed found = placed("reasoning/config/collocated.yaml", "8xH100");
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.mode, "collocated");
  EXPECT_EQ(found.processes.at("actor"), 8u);
  EXPECT_EQ(found.devices.at("rollout"), 1u) << "half of the actor's tensor size of 2";
  const Placed larger = placed(
      "reasoning/config/collocated.yaml", "8xH100", {"actor.model.tensor_model_parallel_size=4"});
  EXPECT_THAT(larger.findings, IsEmpty());
  EXPECT_EQ(larger.devices.at("rollout"), 2u);
}

TEST(RlinfDocuments, OnesOnTopOfOthers) {
  const Placed apart = placed("reasoning/config/disaggregated.yaml", "8xH100:2");
  EXPECT_THAT(apart.findings, IsEmpty());
  EXPECT_EQ(apart.mode, "disaggregated");
  EXPECT_EQ(apart.processes.at("rollout"), 4u);
  const Placed larger = placed("reasoning/config/disaggregated_large_engines.yaml", "8xH100:2");
  EXPECT_THAT(larger.findings, IsEmpty());
  EXPECT_EQ(larger.processes.at("rollout"), 1u);
  EXPECT_EQ(larger.devices.at("rollout"), 4u);
}

TEST(RlinfDocuments, AnEvaluationNeedsNoActor) {
  const Placed found = placed("reasoning/config/evaluation.yaml", "8xH100");
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.processes.at("rollout"), 2u);
  EXPECT_EQ(found.devices.at("rollout"), 4u);
}

TEST(RlinfDocuments, WithoutNodesOrAPlacementItIsSaidWhatIsMissing) {
  EXPECT_THAT(placed("reasoning/config/base.yaml", "8xH100").findings,
              Contains(HasSubstr("nothing to place")));
  EXPECT_THAT(placed("reasoning/config/disaggregated.yaml", "8xH100").findings,
              ElementsAre(HasSubstr("2, but 1 in cluster.nodes")));
}

}  // namespace documents_tests
}  // namespace orrery::scenarios
