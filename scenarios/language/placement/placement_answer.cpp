// From a placement document to its plan.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "scenarios/language/placement/document_reading.hpp"
#include "scenarios/language/placement/placed_worker_groups.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/placement/program_groups.hpp"

namespace orrery::scenarios {
namespace {

using placement::ComponentPlan;
using placement::PlacementErrors;
using placement::Plan;
using placement::ResourceKind;

Plan resolve_strategy_call(const PlacementDocument& document, PlacementErrors& errors) {
  const StrategyCall& call = *document.strategy;
  Plan plan;
  plan.components.push_back(std::visit(
      [&](const auto& strategy) {
        return placement::resolve_strategy(document.inventory, strategy, call.labels, errors);
      },
      call.strategy));
  for (placement::PlacementError& error : errors)
    if (error.at.line == 0) error.at = call.at;
  return plan;
}

Plan resolve(const PlacementDocument& document, PlacementErrors& errors) {
  if (document.strategy) return resolve_strategy_call(document, errors);
  if (document.sizes)
    return placement::resolve_model_parallel(
        document.inventory, document.rules, *document.sizes, errors);
  Plan plan;
  plan.components = placement::resolve_components(document.inventory, document.rules, errors);
  return plan;
}

/// A device of the cluster: node, kind or type, index on the node.
using Device = std::tuple<std::int32_t, std::string_view, std::int32_t>;

/// Finds roles of one job on the same devices that take no turns.
class OverlapCheck {
 public:
  OverlapCheck(const PlacedJob& job, const Plan& plan) : job_(job), plan_(plan) {}

  void check(std::vector<PlacementFinding>& findings) {
    for (std::size_t role = 0; role < job_.roles.size(); ++role) place(role);
    for (const auto& [device, roles] : holders_)
      for (const std::size_t first : roles)
        for (const std::size_t second : roles)
          if (first < second && is_conflict(first, second) &&
              told_.emplace(job_.roles[first].name, job_.roles[second].name).second)
            findings.push_back(finding(first, second, device));
  }

 private:
  void place(std::size_t role) {
    const auto found =
        std::find_if(plan_.components.begin(), plan_.components.end(), [&](const auto& component) {
          return component.name == job_.roles[role].component;
        });
    if (found == plan_.components.end()) return;
    for (const placement::Process& process : found->processes)
      for (const std::int32_t device : process.devices) {
        const auto group = static_cast<std::size_t>(process.group);
        holders_[{process.node_rank, found->hardware_types[group], device}].insert(role);
      }
  }

  bool is_conflict(std::size_t a, std::size_t b) const {
    const std::string& first = job_.roles[a].name;
    const std::string& second = job_.roles[b].name;
    if (first == second) return false;  // One role at two sizes.
    return std::none_of(job_.turns.begin(), job_.turns.end(), [&](const auto& turn) {
      return std::find(turn.begin(), turn.end(), first) != turn.end() &&
             std::find(turn.begin(), turn.end(), second) != turn.end();
    });
  }

  PlacementFinding finding(std::size_t a, std::size_t b, const Device& device) const {
    const std::string& first = job_.roles[a].name;
    const std::string& second = job_.roles[b].name;
    PlacementFinding finding;
    finding.kind = "undeclared_overlap";
    finding.stage = placement::Stage::Resolve;
    finding.at = job_.roles[b].at;
    finding.message = "role " + second + ": found it with role " + first + " on " +
                      std::string(std::get<1>(device)) + " " + std::to_string(std::get<2>(device)) +
                      " of node " + std::to_string(std::get<0>(device)) +
                      ", needed devices of its own or turns; write take_turns: [[" + first + ", " +
                      second + "]] in job " + job_.name + ", or place it elsewhere";
    return finding;
  }

  const PlacedJob& job_;
  const Plan& plan_;
  std::map<Device, std::set<std::size_t>> holders_;
  std::set<std::pair<std::string, std::string>> told_;
};

/// Names that the document's sections give, of components that do not have one yet.
void name_groups(const PlacementDocument& document, Plan& plan) {
  for (ComponentPlan& component : plan.components)
    for (const KeyValue& named : document.group_names)
      if (named.key == component.name && component.group_name.empty())
        component.group_name = named.value;
}

/// What concerns the roles of one job together.
void check_jobs(const PlacementDocument& document, PlacementAnswer& answer) {
  for (const PlacedJob& job : document.jobs) {
    OverlapCheck(job, answer.plan).check(answer.findings);
    if (document.scenario == nullptr) continue;
    std::string reason = add_worker_groups(*document.scenario, job, answer.plan);
    if (reason.empty()) continue;
    PlacementFinding finding;
    finding.kind = "infeasible";
    finding.stage = placement::Stage::Resolve;
    finding.at = job.at;
    finding.message = "job " + job.name + ": " + std::move(reason);
    answer.findings.push_back(std::move(finding));
  }
}

}  // namespace

PlacementAnswer resolve_placement_document(const PlacementDocument& document) {
  PlacementAnswer answer;
  answer.findings = document.findings;
  PlacementErrors errors;
  answer.plan = resolve(document, errors);
  answer.plan.isolate_accelerators = document.isolate_accelerators;
  PlacementErrors warnings = std::move(answer.plan.warnings);
  if (document.program && document.has_inventory) {
    check_program(document, answer.plan, errors, warnings);
    if (errors.empty() && document.findings.empty())
      start_groups(document, answer.plan, answer.not_started, errors);
  }
  name_groups(document, answer.plan);
  for (const placement::PlacementError& error : errors)
    answer.findings.push_back(finding_of(error));
  for (const placement::PlacementError& warning : warnings)
    answer.warnings.push_back(finding_of(warning));
  std::stable_sort(
      answer.findings.begin(),
      answer.findings.end(),
      [](const PlacementFinding& a, const PlacementFinding& b) { return a.stage < b.stage; });
  if (answer.findings.empty()) check_jobs(document, answer);
  if (!answer.findings.empty()) answer.plan.components.clear();
  return answer;
}

}  // namespace orrery::scenarios
