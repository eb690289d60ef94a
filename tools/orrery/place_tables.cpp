#include "tools/orrery/place_tables.hpp"

#include <algorithm>

#include "tools/console/table.hpp"
#include "tools/orrery/place_runs.hpp"

namespace orrery::cli {
namespace {

using placement::ComponentPlan;

constexpr std::size_t kTableRowsMax = 200;

std::string plural(std::size_t count, std::string_view word) {
  return std::to_string(count) + " " + std::string(word) +
         (count == 1 ? "" : (word.ends_with("ss") ? "es" : "s"));
}

std::size_t nodes_of(const ComponentPlan& component) {
  std::int32_t nodes = 0;
  for (const placement::Process& process : component.processes)
    nodes = std::max(nodes, process.placement_node_rank + 1);
  return static_cast<std::size_t>(nodes);
}

std::string title_of(const ComponentPlan& component) {
  return component.name + ": " + plural(component.processes.size(), "process") + " on " +
         plural(nodes_of(component), "node");
}

std::string devices_text(const PlacedRun& run) {
  if (run.first_devices.empty()) return "-";
  std::string text;
  if (run.first_devices == run.last_devices) {
    text = range_text(run.first_devices);
  } else {
    std::vector<std::int32_t> all{run.first_devices};
    const bool dense = run.first_devices.back() - run.first_devices.front() + 1 ==
                       static_cast<std::int32_t>(run.first_devices.size());
    const std::int32_t sets = (run.last_local_rank - run.first_local_rank + 1) / run.sharers;
    const std::int32_t step = (run.last_devices[0] - run.first_devices[0]) / (sets - 1);
    if (dense && step == static_cast<std::int32_t>(run.first_devices.size()))
      text = range_text(run.first_devices.front(), run.last_devices.back()) + ", " +
             std::to_string(step) + " each";
    else
      text = range_text(run.first_devices) + " to " + range_text(run.last_devices) + ", step " +
             std::to_string(step);
  }
  if (run.sharers > 1) text += ", shared by " + std::to_string(run.sharers);
  return text;
}

std::string local_text(const PlacedRun& run) {
  return range_text(run.first_local_rank, run.last_local_rank) + " of " +
         std::to_string(run.local_world_size);
}

std::string table_of(const ComponentPlan& component,
                     const placement::Inventory& inventory,
                     bool isolate,
                     std::size_t width_max) {
  Table table({{.title = "ranks"},
               {.title = "nodes"},
               {.title = "group", .left = true},
               {.title = "hardware", .left = true, .spare = 1},
               {.title = "devices", .left = true},
               {.title = "sees", .left = true, .spare = 2},
               {.title = "local ranks"}});
  const std::vector<PlacedRun> runs = placed_runs(component, inventory, isolate);
  const std::size_t shown = std::min(runs.size(), kTableRowsMax);
  for (std::size_t i = 0; i < shown; ++i) {
    const PlacedRun& run = runs[i];
    const auto group = static_cast<std::size_t>(run.group);
    table.add_row({{range_text(run.first_rank, run.last_rank)},
                   {range_text(run.first_node, run.last_node)},
                   {component.groups[group]},
                   {component.hardware_types[group]},
                   {devices_text(run)},
                   {run.sees_own ? "its own" : range_text(run.visible)},
                   {local_text(run)}});
  }
  std::string text = table.text(false, width_max);
  if (shown < runs.size())
    text += "... and " + plural(runs.size() - shown, "line") + " more; --json has every process\n";
  return text;
}

/// Text in double quotes for YAML and JSON.
std::string in_quotes(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string placement_tables(const placement::Plan& plan,
                             const placement::Inventory& inventory,
                             std::size_t width_max) {
  std::string text;
  for (const ComponentPlan& component : plan.components)
    text += (text.empty() ? "" : "\n") + title_of(component) + "\n" +
            table_of(component, inventory, plan.isolate_accelerators, width_max);
  return text;
}

std::string explicit_placement(const placement::Plan& plan, const placement::Inventory& inventory) {
  std::string text = "component_placement:\n";
  for (const ComponentPlan& component : plan.components) {
    const placement::PlacementRule rule = placement::explicit_rule(component, inventory);
    if (!rule.placement) {
      text += "  # " + component.name + ": no text says this placement\n";
      continue;
    }
    text += "  " + in_quotes(component.name) + ": ";
    std::string labels;
    for (const placement::PlacedText& label : rule.node_groups)
      labels += (labels.empty() ? "" : ",") + label.text;
    text += labels.empty() ? in_quotes(rule.placement->text)
                           : "{node_group: " + in_quotes(labels) +
                                 ", placement: " + in_quotes(rule.placement->text) + "}";
    text += "\n";
  }
  return text;
}

}  // namespace orrery::cli
