#include "tools/orrery/place_json.hpp"

#include "core/base/json_text.hpp"

namespace orrery::cli {
namespace {

using placement::ComponentPlan;
using placement::Process;

void add_list(JsonText& json, std::string_view key, const std::vector<std::int32_t>& values) {
  json.key(key).begin_array();
  for (const std::int32_t value : values) json.value(value);
  json.end_array();
}

std::string record_of(const placement::Inventory& inventory,
                      const ComponentPlan& component,
                      const Process& process,
                      bool isolate) {
  const auto group = static_cast<std::size_t>(process.group);
  const bool accelerator = process.kind == placement::ResourceKind::Accelerator;
  JsonText json;
  json.begin_object().field("rank", process.rank).field("node_rank", process.node_rank);
  json.field("placement_node_rank", process.placement_node_rank);
  json.field("node_group", component.groups[group]);
  json.field("hardware_type", component.hardware_types[group]);
  add_list(json, "local_hardware_ranks", process.devices);
  add_list(
      json, "local_accelerator_ids", accelerator ? process.devices : std::vector<std::int32_t>{});
  json.field("local_accelerator_rank", placement::local_accelerator_rank(inventory, process));
  json.field("local_rank", process.local_rank);
  json.field("local_world_size", process.local_world_size);
  add_list(json, "visible_devices", placement::visible_devices(inventory, process, isolate));
  json.end_object();
  return json.take();
}

}  // namespace

std::string placement_json(const placement::Plan& plan, const placement::Inventory& inventory) {
  JsonText json;
  json.begin_object();
  for (const ComponentPlan& component : plan.components) {
    std::string records;
    for (const Process& process : component.processes) {
      records += records.empty() ? "\n" : ",\n";
      records += record_of(inventory, component, process, plan.isolate_accelerators);
    }
    json.key(component.name).raw("[" + records + "]");
  }
  json.end_object();
  return json.take() + "\n";
}

std::string placement_errors_json(std::span<const scenarios::PlacementFinding> findings,
                                  const std::vector<std::string>& files) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("errors").begin_array();
  for (const scenarios::PlacementFinding& finding : findings) {
    json.begin_object().field("kind", finding.kind).field("stage", to_string(finding.stage));
    if (finding.file > 0 && finding.file < files.size()) json.field("file", files[finding.file]);
    json.field("line", finding.at.line).field("column", finding.at.column);
    json.field("message", finding.message).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string placement_errors_json(const Errors& errors) {
  std::vector<scenarios::PlacementFinding> findings;
  for (const Error& error : errors) {
    Error said = error;
    if (said.line > 0) said.file.clear();  // The line stands beside the message.
    findings.push_back(
        {"document", placement::Stage::Config, {error.line, 0}, false, 0, said.text()});
  }
  return placement_errors_json(findings, {});
}

}  // namespace orrery::cli
