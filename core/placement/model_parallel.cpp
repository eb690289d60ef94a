// Processes of model-parallel placements: those of the chosen mode, and the texts of all components
// that it leaves alone.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/placement/assignment.hpp"
#include "core/placement/component_rules.hpp"
#include "core/placement/mode_choice.hpp"
#include "core/placement/packing.hpp"
#include "core/placement/plan.hpp"
#include "core/placement/rank_text.hpp"

namespace orrery::placement {
namespace {

/// Turns read rules into components under a mode.
class ModeProcesses {
 public:
  ModeProcesses(const Inventory& inventory, const ModeChoice& choice, PlacementErrors& errors)
      : inventory_(inventory), choice_(choice), errors_(errors) {}

  /// The components of one rule; `mode` is nothing where there is none.
  void add(const ReadRule& rule, const std::optional<ModePlan>& mode);

  std::vector<ComponentPlan> take() { return std::move(components_); }

 private:
  bool is_moved(const ReadRule& rule, const std::string& name) const;
  bool check_moved(const ReadRule& rule);
  void add_packed_component(const ReadRule& rule,
                            const std::string& name,
                            const PackingPlan& packing);

  const Inventory& inventory_;
  const ModeChoice& choice_;
  PlacementErrors& errors_;
  std::vector<ComponentPlan> components_;
};

/// Whether the mode judges the component, so that its text may only name devices.
bool ModeProcesses::is_moved(const ReadRule& rule, const std::string& name) const {
  const bool inference = name == kInference || name == kActorInference;
  return name == kActor || name == kRollout || name == kReward || name == kCritic ||
         name == kCriticInference || (inference && choice_.inference_rule() == &rule);
}

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
  const bool moves = std::any_of(
      rule.names.begin(), rule.names.end(), [&](const auto& name) { return is_moved(rule, name); });
  const bool sound = !moves || check_moved(rule);
  std::optional<ComponentPlan> as_written;
  for (const std::string& name : rule.names) {
    const bool moved = is_moved(rule, name);
    if (moved && (!mode || !sound)) continue;
    if (name == kActor && mode->actor) {
      add_packed_component(rule, name, *mode->actor);
    } else if (name == kRollout) {
      add_packed_component(rule, name, *mode->rollout);
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
  ModeChoice choice(inventory, read, sizes, errors);
  const std::optional<ModePlan> mode = choice.choose();
  ModeProcesses processes(inventory, choice, errors);
  for (const ReadRule& rule : read.rules) processes.add(rule, mode);
  Plan plan;
  if (mode) {
    plan.mode = mode->mode;
    plan.components = processes.take();
  }
  sort_by_stage(errors);
  return plan;
}

}  // namespace orrery::placement
