#include "scenarios/language/spec/approximated.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <variant>

namespace orrery::scenarios {
namespace {

/// Three digits behind the point, or fewer.
std::string rounded(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  std::string out(text);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out;
}

/// Whether some job whose work was measured on one model may run on any.
bool has_work_of_any_model(const Scenario& scenario) {
  if (std::holds_alternative<GeneratorWorkload>(scenario.workload)) return true;
  // A table of throughputs has a speed for each model.
  const auto* trace = std::get_if<TraceWorkload>(&scenario.workload);
  if (trace != nullptr && trace->throughputs.empty()) return true;
  return std::any_of(scenario.jobs.begin(), scenario.jobs.end(), [](const ScenarioJob& job) {
    if (!job.work.follows_model || job.spec.roles.empty()) return false;
    const Bundle& bundle = job.spec.roles[elastic_role(job.spec).index()].bundle;
    return bundle.devices > 0 && bundle.device_model.empty();
  });
}

void add_equal_models(const Scenario& scenario, std::vector<Approximated>& out) {
  std::set<std::string> models;
  bool said = false;
  for (const NodeGroup& group : scenario.groups) {
    if (group.devices == 0) continue;
    models.insert(group.device_model);
    said = said || speed_of(scenario.device_models, group.device_model) != 1;
  }
  for (const DeviceModel& model : scenario.device_models) said = said || model.speed > 0;
  if (models.size() < 2 || said || !has_work_of_any_model(scenario)) return;
  std::string names;
  for (const std::string& name : models) names += (names.empty() ? "" : ", ") + name;
  out.push_back({"cluster.devices",
                 "work goes on equally fast on all models of device (" + names +
                     "), since no speed is said; write for example devices: {" + *models.rbegin() +
                     ": {speed: 2}}"});
}

void add_oversubscription(const NetworkSpec& network, std::vector<Approximated>& out) {
  if (network.topology != NetworkTopology::FatTree || network.nodes_per_leaf < 1) return;
  const double nodes = network.nodes_per_leaf;
  const double links = std::max(1.0, std::floor(nodes / network.oversubscription));
  if (std::abs(nodes / links - network.oversubscription) <= 1e-9 * network.oversubscription) return;
  out.push_back({"cluster.network.oversubscription",
                 "a leaf of " + std::to_string(network.nodes_per_leaf) +
                     " nodes has a whole number of links up, " + rounded(links) +
                     ": the oversubscription is " + rounded(nodes / links) + " in place of " +
                     rounded(network.oversubscription) +
                     "; write that number, or a nodes_per_leaf that it divides"});
}

/// The simulators whose timing it is know no worker that is slow.
void add_unslowed_jobs(const Scenario& scenario, std::vector<Approximated>& out) {
  if (scenario.timing.mode != TimingMode::Pollux) return;
  const bool any = std::any_of(scenario.faults.begin(), scenario.faults.end(), [](const Fault& f) {
    return f.kind == FaultKind::Hang || f.kind == FaultKind::Stuck || f.kind == FaultKind::Slow;
  });
  if (any)
    out.push_back({"faults",
                   "jobs whose progress is that of timing pollux or gavel go on as before while a "
                   "worker hangs or is slow; take timing simple to see what that costs"});
}

}  // namespace

std::vector<Approximated> approximated(const Scenario& scenario) {
  std::vector<Approximated> out;
  add_equal_models(scenario, out);
  add_oversubscription(scenario.network, out);
  add_unslowed_jobs(scenario, out);
  return out;
}

}  // namespace orrery::scenarios
