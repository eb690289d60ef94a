#include "tests/system/fuzz/small_scenario.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/invariant.hpp"
#include "policies/registry.hpp"
#include "scenarios/language/loader.hpp"

namespace orrery::tests {
namespace {

constexpr std::int64_t kNodesMax = 64;
constexpr std::int32_t kDevicesMax = 64;  // Of a node.
constexpr std::int64_t kJobsMax = 30;
constexpr std::int32_t kReplicasMax = 400;  // Of a role.
constexpr std::int64_t kPlannerSteps = 20'000;

bool is_small(const scenarios::Scenario& scenario) {
  if (scenario.failures.any()) return false;  // They may name a file.
  if (scenario.node_count() > kNodesMax) return false;
  if (static_cast<std::int64_t>(scenario.jobs.size()) > kJobsMax) return false;
  for (const NodeGroup& group : scenario.groups)
    if (group.devices > kDevicesMax) return false;
  for (const scenarios::ScenarioJob& job : scenario.jobs)
    for (const RoleSpec& role : job.spec.roles)
      if (role.max_replicas > kReplicasMax) return false;
  if (!scenario.has_workload()) return true;
  const auto* generated = std::get_if<scenarios::GeneratorWorkload>(&scenario.workload);
  return generated != nullptr && generated->spec.jobs <= kJobsMax;
}

}  // namespace

std::optional<SmallScenario> small_scenario(const std::uint8_t* data,
                                            std::size_t size,
                                            Duration until_max) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto scenario = scenarios::parse_scenario(text, "fuzz.yaml");
  if (!scenario || !is_small(*scenario)) return std::nullopt;
  scenario->world = scenarios::World::Model;
  scenario->fidelity = std::min(scenario->fidelity, scenarios::Fidelity::L1);
  scenario->planner_steps = std::min(scenario->planner_steps, kPlannerSteps);
  scenario->until = std::min(scenario->until, Instant::zero() + until_max);
  auto workload = sim::LoadedWorkload::load(*scenario);
  if (!workload) {
    invariant(!workload.errors().front().message.empty(), "every error has words");
    return std::nullopt;
  }
  SmallScenario out{
      std::move(*scenario), std::make_shared<sim::LoadedWorkload>(std::move(*workload)), nullptr};
  out.workload->complete(out.scenario);
  policies::PolicyArguments arguments;
  for (const scenarios::Parameter& parameter : out.scenario.policy.parameters)
    arguments.parameters[parameter.key] = parameter.value;
  arguments.seed = out.scenario.seed;
  if (!policies::make_policy(out.scenario.policy.name, arguments)) return std::nullopt;
  out.policy = [name = out.scenario.policy.name, arguments] {
    return std::move(policies::make_policy(name, arguments).value());
  };
  return out;
}

}  // namespace orrery::tests
