// Documents of RLinf that are nowhere but in memory, and what becomes of them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/rlinf/inventory_words.hpp"

namespace orrery::scenarios {

using MemoryFiles = std::map<std::string, std::string>;

/// A document on nodes, in words that are short to expect.
struct PlacedInMemory {
  PlacementDocument document;
  placement::Plan plan;
  std::vector<std::string> findings;  ///< "file:line kind".
  std::vector<std::string> messages;  ///< Of findings, the same order.
  std::vector<std::string> warnings;  ///< "file:line kind".
  std::vector<std::string> not_started;
  std::string program;  ///< "embodied, for runner.task_type is embodied".
  std::string mode;

  /// Names of the components, in their order.
  std::vector<std::string> components() const {
    std::vector<std::string> out;
    for (const placement::ComponentPlan& component : plan.components) out.push_back(component.name);
    return out;
  }

  /// "rank@node:devices" of each process; of many, how many there are.
  std::string of(std::string_view name) const {
    for (const placement::ComponentPlan& component : plan.components) {
      if (component.name != name) continue;
      if (component.processes.size() > 16)
        return std::to_string(component.processes.size()) + " processes";
      std::string out;
      for (const placement::Process& process : component.processes) {
        out += (out.empty() ? "" : " ") + std::to_string(process.rank) + "@" +
               std::to_string(process.node_rank);
        for (const std::int32_t device : process.devices)
          out += (device == process.devices.front() ? ":" : ",") + std::to_string(device);
      }
      return out;
    }
    return "nothing";
  }

  std::string group_name_of(std::string_view name) const {
    for (const placement::ComponentPlan& component : plan.components)
      if (component.name == name) return component.group_name;
    return "nothing";
  }
};

struct MemoryWords {
  std::string_view nodes = "8xH100";
  std::vector<std::string> overrides;
  std::map<std::string, std::string> variables;
  std::optional<RlinfProgram> program;
  PlacementMode mode = PlacementMode::AsWritten;
};

inline PlacedInMemory placed_in_memory(const MemoryFiles& files,
                                       const std::string& path,
                                       const MemoryWords& words = {}) {
  PlacementContext context;
  context.path = path;
  context.sources.read = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = files.find(name);
    if (found == files.end()) return std::nullopt;
    return found->second;
  };
  context.sources.variable = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = words.variables.find(name);
    if (found == words.variables.end()) return std::nullopt;
    return found->second;
  };
  context.sources.overrides = words.overrides;
  context.nodes = inventory_of_words(words.nodes).value();
  context.program = words.program;
  PlacedInMemory out;
  out.document = read_placement_document(files.at(path), words.mode, context);
  PlacementAnswer answer = resolve_placement_document(out.document);
  const auto line = [&](const PlacementFinding& finding) {
    const bool known = finding.file < out.document.files.size();
    return (known ? out.document.files[finding.file] : path) + ":" +
           std::to_string(finding.at.line) + " " + finding.kind;
  };
  for (const PlacementFinding& finding : answer.findings) {
    out.findings.push_back(line(finding));
    out.messages.push_back(finding.message);
  }
  for (const PlacementFinding& warning : answer.warnings) out.warnings.push_back(line(warning));
  out.not_started = answer.not_started;
  out.plan = std::move(answer.plan);
  out.mode = to_string(out.plan.mode);
  if (out.document.program)
    out.program = std::string(to_string(out.document.program->program)) + ", for " +
                  out.document.program->reason;
  return out;
}

/// One document alone.
inline PlacedInMemory placed_in_memory(std::string_view text, const MemoryWords& words = {}) {
  return placed_in_memory(MemoryFiles{{"d.yaml", std::string(text)}}, "d.yaml", words);
}

}  // namespace orrery::scenarios
