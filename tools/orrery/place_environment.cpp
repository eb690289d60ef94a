#include "tools/orrery/place_environment.hpp"

#include <utility>
#include <vector>

#include "core/base/json_text.hpp"
#include "core/base/number_text.hpp"
#include "core/workers/plan_environment.hpp"

namespace orrery::cli {
namespace {

using workers::EnvironmentNote;
using workers::WorkerEnvironment;

/// Environments of the processes from `first` on.
struct Environments {
  std::int32_t first = 0;
  std::vector<WorkerEnvironment> of;
};

Result<Environments> computed(const PlacedRole& placed,
                              const placement::Inventory& inventory,
                              const PlacedProcesses& processes) {
  workers::PlanSurroundings surroundings;
  surroundings.job = placed.job;
  surroundings.worker_group = placed.worker_group;
  if (placed.backoff_limit) surroundings.restarts = {0, *placed.backoff_limit};
  Environments out;
  if (processes.rank) {
    Result<WorkerEnvironment> one = workers::environment_of(
        inventory, placed.plan, placed.role, *processes.rank, placed.family, surroundings);
    if (!one) return one.errors();
    out.first = *processes.rank;
    out.of.push_back(std::move(one).value());
    return out;
  }
  Result<std::vector<WorkerEnvironment>> all =
      workers::environments_of(inventory, placed.plan, placed.role, placed.family, surroundings);
  if (!all) return all.errors();
  out.of = std::move(all).value();
  return out;
}

std::string json_of(const Environments& environments, const std::string& component) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key(component).begin_array();
  std::int32_t rank = environments.first;
  for (const WorkerEnvironment& one : environments.of) {
    json.begin_object().field("rank", rank++).key("variables").begin_object();
    for (const KeyValue& variable : one.variables) json.field(variable.key, variable.value);
    json.end_object().key("notes").begin_array();
    for (const EnvironmentNote& note : one.notes) json.value(note.message());
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

EnvironmentPage text_of(const Environments& environments, const PlacedProcesses& processes) {
  EnvironmentPage page;
  std::int32_t rank = environments.first;
  for (const WorkerEnvironment& one : environments.of) {
    const std::string name = processes.component + ":" + std::to_string(rank++);
    if (!processes.rank) page.out += "# " + name + "\n";
    for (const KeyValue& variable : one.variables)
      page.out.append(variable.key).append("=").append(variable.value).append("\n");
    for (const EnvironmentNote& note : one.notes)
      page.remarks.append(name).append(": ").append(note.message()).append("\n");
  }
  return page;
}

}  // namespace

PlacedProcesses placed_processes(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const std::optional<std::int32_t> rank = parsed_number<std::int32_t>(text.substr(colon + 1));
    if (rank) return {std::string(text.substr(0, colon)), rank};
  }
  return {std::string(text), std::nullopt};
}

Result<EnvironmentPage> placed_environments(const PlacedRole& placed,
                                            const placement::Inventory& inventory,
                                            const PlacedProcesses& processes,
                                            bool as_json) {
  const Result<Environments> environments = computed(placed, inventory, processes);
  if (!environments) return environments.errors();
  if (as_json) return EnvironmentPage{json_of(*environments, processes.component), {}};
  return text_of(*environments, processes);
}

}  // namespace orrery::cli
