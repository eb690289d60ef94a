// Processes of model-parallel placements: those of the chosen mode, and the texts of all components
// that it leaves alone.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/placement/assignment.hpp"
#include "core/placement/component_rules.hpp"
#include "core/placement/device_pools.hpp"
#include "core/placement/mode_choice.hpp"
#include "core/placement/packing.hpp"
#include "core/placement/plan.hpp"
#include "core/placement/rank_text.hpp"

namespace orrery::placement {
namespace {

/// How the mode packs the component; null where it leaves its text as it is.
const PackingPlan* packing_of(const ModePlan& mode, const std::string& name) {
  if (name == kActor) return mode.actor ? &*mode.actor : nullptr;
  if (name == kRollout) return mode.rollout ? &*mode.rollout : nullptr;
  const auto engine = mode.engines.find(name);
  return engine == mode.engines.end() ? nullptr : &engine->second;
}

/// Turns read rules into components under a mode.
class ModeProcesses {
 public:
  ModeProcesses(const Inventory& inventory, const ModeChoice& choice, PlacementErrors& errors)
      : inventory_(inventory), choice_(choice), errors_(errors) {}

  /// The components of one rule; `mode` is nothing where there is none.
  void add(const ReadRule& rule, const std::optional<ModePlan>& mode);

  std::vector<ComponentPlan> take() { return std::move(components_); }

 private:
  bool check_moved(const ReadRule& rule);
  void add_packed_component(const ReadRule& rule,
                            const std::string& name,
                            const PackingPlan& packing);

  const Inventory& inventory_;
  const ModeChoice& choice_;
  PlacementErrors& errors_;
  std::vector<ComponentPlan> components_;
};

/// What a mode asks of the texts of its components, told once for a rule.
bool ModeProcesses::check_moved(const ReadRule& rule) {
  const TextPosition at = rule.rule->placement->at;
  const ErrorSink sink(errors_, Stage::Parse, rule.subject);
  bool sound = true;
  for (const PlacementEntry& entry : rule.text.entries) {
    if (!entry.processes_offset) continue;
    sink.add(ErrorKind::ProcessRanksUnsupported,
             at.plus(*entry.processes_offset),
             {"process ranks " + to_text(entry.processes),
              "no process ranks, for the parallel sizes say how many processes there are",
              "write '" + to_text(entry.resources) + "'"});
    sound = false;
    break;
  }
  if (rule.selection->is_nodes()) {
    sink.in(Stage::Resolve)
        .add(ErrorKind::NoHardware,
             at,
             {"nodes as the resource of a model-parallel component",
              "devices",
              "choose node groups with accelerators"});
    sound = false;
  }
  return sound;
}

void ModeProcesses::add_packed_component(const ReadRule& rule,
                                         const std::string& name,
                                         const PackingPlan& plan) {
  Assignment assignment(*plan.selection, name);
  if (const auto fault = add_packed(assignment, plan.packing)) {
    const ErrorSink sink(errors_, Stage::Resolve, "component " + in_quotes(name));
    tell_fault(*fault, *plan.selection, rule.rule->placement->at, sink);
    return;
  }
  components_.push_back(assignment.finish(inventory_.nodes.size()));
}

void ModeProcesses::add(const ReadRule& rule, const std::optional<ModePlan>& mode) {
  if (!rule.is_sound()) return;
  const bool moves = std::any_of(rule.names.begin(), rule.names.end(), [&](const auto& name) {
    return choice_.judges(rule, name);
  });
  const bool sound = !moves || check_moved(rule);
  std::optional<ComponentPlan> as_written;
  for (const std::string& name : rule.names) {
    const bool moved = choice_.judges(rule, name);
    if (moved && (!mode || !sound)) continue;
    const PackingPlan* const packing = moved ? packing_of(*mode, name) : nullptr;
    if (packing != nullptr) {
      add_packed_component(rule, name, *packing);
      if (name == kRollout && mode->fixed_worker)
        add_packed_component(rule, std::string(kFixedWorker), *mode->fixed_worker);
    } else {
      if (!as_written) as_written = resolve_rule(inventory_, rule, errors_);
      if (as_written->processes.empty()) continue;
      components_.push_back(*as_written);
      components_.back().name = name;
    }
  }
}

}  // namespace

Plan resolve_model_parallel(const Inventory& inventory,
                            const std::vector<PlacementRule>& rules,
                            const ParallelSizes& sizes,
                            PlacementErrors& errors) {
  const ReadRules read = read_rules(inventory, rules, errors);
  Plan plan;
  ModeChoice choice(inventory, read, sizes, errors, plan.warnings);
  const std::optional<ModePlan> mode = choice.choose();
  ModeProcesses processes(inventory, choice, errors);
  for (const ReadRule& rule : read.rules) processes.add(rule, mode);
  if (mode) {
    plan.mode = mode->mode;
    plan.components = processes.take();
  }
  sort_by_stage(errors);
  return plan;
}

ComponentPlan resolve_packed_beside(const Inventory& inventory,
                                    const std::vector<PlacementRule>& rules,
                                    std::string_view name,
                                    std::int32_t per_process,
                                    PlacementErrors& errors) {
  PlacementErrors told;
  const ReadRules read = read_rules(inventory, rules, told);
  const ReadRule* const rule = read.find(name);
  if (rule == nullptr || !rule->is_sound()) return {};
  const ErrorSink sink(errors, Stage::Resolve, rule->subject);
  const auto pool = read_pool(std::string(name), *rule, sink);
  if (!pool) return {};
  const Packing packing{pool->ranks, per_process, 1};
  if (rule->selection->is_nodes() || !packing.divides()) {
    sink.add(ErrorKind::NotDivisible,
             pool->at(),
             {counted(pool->ranks.count(), "resource") + " for servers of " +
                  counted(per_process, "device"),
              "devices that servers of this size use up",
              "change the devices or the size of a server"});
    return {};
  }
  Assignment assignment(*rule->selection, std::string(name));
  if (const auto fault = add_packed(assignment, packing)) {
    tell_fault(*fault, *rule->selection, pool->at(), sink);
    return {};
  }
  return assignment.finish(inventory.nodes.size());
}

}  // namespace orrery::placement
