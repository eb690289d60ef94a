// The conformance cases of placement, each read and resolved as it stands in their file, and once
// more written as RLinf's own YAML.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "tools/orrery/place_json.hpp"

namespace orrery::scenarios {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> cases() {
  const auto path =
      std::filesystem::path(ORRERY_SOURCE_ROOT) / "../shared/cases/placement_cases.json";
  std::ifstream in(path, std::ios::binary);
  if (!in) return {Json{{"name", "absent"}}};
  return Json::parse(in).at("cases").get<std::vector<Json>>();
}

/// A run of equal records, written out.
void expand(const Json& component, Json& records) {
  for (const Json& run : component.at("runs"))
    for (int rank = run.at("first_rank"); rank <= run.at("last_rank"); ++rank) {
      const bool accelerator = component.at("hardware_type") == "Accelerator";
      const Json& own = run.at("local_hardware_ranks");
      const Json& visible = run.at("visible_devices");
      const int first = accelerator && !own.empty() ? own[0].get<int>()
                        : visible.empty()           ? -1
                                                    : visible[0].get<int>();
      records.push_back(
          {{"rank", rank},
           {"node_rank", run.at("node_rank")},
           {"placement_node_rank", run.at("placement_node_rank")},
           {"node_group", component.at("node_group")},
           {"hardware_type", component.at("hardware_type")},
           {"local_hardware_ranks", own},
           {"local_accelerator_ids", accelerator ? own : Json::array()},
           {"local_accelerator_rank", first},
           {"local_rank",
            run.at("first_local_rank").get<int>() + rank - run.at("first_rank").get<int>()},
           {"local_world_size", run.at("local_world_size")},
           {"visible_devices", visible}});
    }
}

Json expected_records(const Json& expect) {
  Json all = Json::object();
  for (const auto& [name, value] : expect.items()) {
    Json records = Json::array();
    if (value.is_array()) {
      records = value;
    } else {
      expand(value, records);
      EXPECT_EQ(records.size(), value.at("world_size"));
    }
    all[name] = std::move(records);
  }
  return all;
}

void expect_plan(const Json& wanted, const PlacementDocument& document) {
  const PlacementAnswer answer = resolve_placement_document(document);
  const Json& expect = wanted.at("expect");
  if (expect.contains("error")) {
    ASSERT_FALSE(answer.findings.empty()) << "nothing was found wrong";
    EXPECT_EQ(answer.findings.front().kind, expect.at("error"));
    for (const PlacementFinding& finding : answer.findings) {
      EXPECT_EQ(finding.kind, expect.at("error")) << finding.message;
      EXPECT_EQ(to_string(finding.stage), expect.at("stage").get<std::string>());
      EXPECT_GT(finding.at.line, 0) << finding.message;
      EXPECT_GT(finding.at.column, 0) << finding.message;
      EXPECT_FALSE(finding.message.empty());
    }
    return;
  }
  for (const PlacementFinding& finding : answer.findings) ADD_FAILURE() << finding.message;
  const Json records =
      Json::parse(cli::placement_json(answer.plan, document.inventory), nullptr, true);
  // Keys of a record are compared by name, components by name too.
  EXPECT_EQ(nlohmann::json(records), nlohmann::json(expected_records(expect)));
  if (!wanted.contains("expect_mode")) return;
  EXPECT_EQ(to_string(answer.plan.mode), wanted.at("expect_mode").get<std::string>());
}

/// The case as a user of RLinf writes it: component_placement inside the cluster, the parallel
/// sizes as sections of the file.
Json as_rlinf_document(const Json& wanted) {
  Json document{{"cluster", wanted.at("cluster")}};
  document["cluster"]["component_placement"] = wanted.at("component_placement");
  document["runner"] = {
      {"task_type", wanted.at("kind") == "model_parallel" ? "reasoning" : "embodied"}};
  if (wanted.contains("isolate_accelerator"))
    document["cluster"]["isolate_accelerator"] = wanted.at("isolate_accelerator");
  if (!wanted.contains("config")) return document;
  for (const auto& [name, section] : wanted.at("config").items()) {
    if (name == "cluster") {
      document["cluster"].update(section);
    } else {
      document[name] = section;
    }
  }
  return document;
}

/// The cases that a test is about; one that says so where the file is absent.
std::vector<Json> cases_where(bool (*wanted)(const Json&)) {
  std::vector<Json> chosen;
  for (Json& one : cases())
    if (one.at("name") == "absent" || wanted(one)) chosen.push_back(std::move(one));
  return chosen;
}

std::string name_of(const testing::TestParamInfo<Json>& one) {
  return one.param.at("name").get<std::string>();
}

#define SKIP_WITHOUT_CASES() \
  if (GetParam().at("name") == "absent") GTEST_SKIP() << "no cases at ../shared/cases"

class PlacementCase : public testing::TestWithParam<Json> {};

TEST_P(PlacementCase, IsReadAndResolvedAsItSays) {
  SKIP_WITHOUT_CASES();
  expect_plan(GetParam(), read_placement_document(GetParam().dump(1)));
}

INSTANTIATE_TEST_SUITE_P(Shared, PlacementCase, testing::ValuesIn(cases()), name_of);

class PlacementCaseInYamlText : public testing::TestWithParam<Json> {};

TEST_P(PlacementCaseInYamlText, IsTheSame) {
  SKIP_WITHOUT_CASES();
  Json document = GetParam();
  document["yaml_text"] = Json{{"component_placement", document.at("component_placement")}}.dump(1);
  document["component_placement"] = Json::object();
  expect_plan(GetParam(), read_placement_document(document.dump(1)));
}

INSTANTIATE_TEST_SUITE_P(Shared,
                         PlacementCaseInYamlText,
                         testing::ValuesIn(cases_where([](const Json& one) {
                           return !one.at("component_placement").empty();
                         })),
                         name_of);

class PlacementCaseAsRlinfYaml : public testing::TestWithParam<Json> {};

TEST_P(PlacementCaseAsRlinfYaml, IsTheSame) {
  SKIP_WITHOUT_CASES();
  // Cases are about RLinf's classes: by a program not all that is placed would be started.
  const PlacementMode mode = GetParam().at("kind") == "model_parallel"
                                 ? PlacementMode::ModelParallel
                                 : PlacementMode::Hybrid;
  expect_plan(GetParam(), read_placement_document(as_rlinf_document(GetParam()).dump(1), mode));
}

INSTANTIATE_TEST_SUITE_P(Shared,
                         PlacementCaseAsRlinfYaml,
                         testing::ValuesIn(cases_where([](const Json& one) {
                           return !one.contains("strategy");
                         })),
                         name_of);

}  // namespace
}  // namespace orrery::scenarios
