#include "scenarios/language/placement/program_groups.hpp"

#include <algorithm>
#include <utility>

#include "scenarios/language/placement/document_placement.hpp"

namespace orrery::scenarios {
namespace {

using placement::ComponentPlan;
using placement::Mode;
using placement::PlacementErrors;
using placement::Plan;

/// Processes of each group of tools on a node, where they search what is on the node.
constexpr std::int32_t kToolsOfNode = 32;

bool is_apart(Mode mode) { return mode == Mode::Disaggregated || mode == Mode::Auto; }

bool is_inference(const std::string& component) {
  return component == "inference" || component == "actor_inference";
}

bool reasoning_starts(const ProgramFacts& program, Mode mode, const std::string& component) {
  if (is_inference(component)) return is_apart(mode) && program.recompute_logprobs;
  if (component == "critic") return program.use_critic_model;
  if (component == "critic_inference") return program.use_critic_model && is_apart(mode);
  return component == "rollout" || component == "reward" || component == "actor";
}

bool agent_starts(const ProgramFacts& program, Mode mode, const std::string& component) {
  if (is_inference(component)) return mode == Mode::Disaggregated && program.recompute_logprobs;
  return component == "rollout" || component == "actor";
}

bool embodied_starts(const ProgramFacts& program, const std::string& component) {
  if (component == "reward") return program.use_reward_model && !program.is_standalone_reward;
  if (component == "reward_server") return program.serves_reward && program.servers.has_server;
  return component == "actor" || component == "rollout" || component == "env";
}

/// Adds groups that no text places.
class DerivedGroups {
 public:
  DerivedGroups(const PlacementDocument& document, Plan& plan, PlacementErrors& errors)
      : document_(document), program_(*document.program), plan_(plan), errors_(errors) {}

  void add() {
    switch (program_.program) {
      case RlinfProgram::Reasoning:
        if (plan_.mode == Mode::Auto) on_nodes("dynamic_scheduler", {0}, "DynamicScheduler");
        return;
      case RlinfProgram::Coding:
        on_first_device("online_router", "OnlineRouterWorker");
        on_first_device("server_rollout", "ServerRolloutWorker");
        return;
      case RlinfProgram::AgentLightning:
        on_first_device("agentlightning_rollout", "AgentLightningRolloutWorker");
        return;
      case RlinfProgram::Agent:
      case RlinfProgram::AgentEvaluation:
        if (!program_.has_agent_loop) return;
        add_agent_loop();
        on_nodes("search", {0}, "search");
        return;
      case RlinfProgram::Rstar2:
        add_agent_loop();
        on_nodes("http_tools", {0}, "HttpToolWorker");
        return;
      case RlinfProgram::MultiAgent:
      case RlinfProgram::MultiAgentEvaluation:
        add_agent_loop();
        add_tools();
        return;
      case RlinfProgram::EmbodiedEvaluation:
        if (program_.rollout_backend && program_.rollout_backend->text == "sglang") add_servers();
        return;
      case RlinfProgram::Embodied:
        if (program_.serves_reward && program_.servers.has_router)
          on_nodes("reward_router", {0}, program_.servers.router_name);
        return;
      default:
        return;
    }
  }

 private:
  void add_component(ComponentPlan component, std::string name, std::string group_name) {
    if (component.processes.empty() || find_component(plan_, name) != nullptr) return;
    component.name = std::move(name);
    component.group_name = std::move(group_name);
    plan_.components.push_back(std::move(component));
  }

  void on_nodes(std::string name, std::vector<std::int32_t> nodes, std::string group_name) {
    add_component(placement::resolve_strategy(
                      document_.inventory, placement::NodeStrategy{std::move(nodes)}, {}, errors_),
                  std::move(name),
                  std::move(group_name));
  }

  void on_first_device(std::string name, std::string group_name) {
    add_component(
        placement::resolve_strategy(
            document_.inventory, placement::PackedStrategy{.start = 0, .end = 0}, {}, errors_),
        std::move(name),
        std::move(group_name));
  }

  /// One for each engine of rollout, on the engine's node.
  void add_agent_loop() {
    const ComponentPlan* const rollout = find_component(plan_, "rollout");
    if (rollout == nullptr) return;
    std::vector<std::int32_t> nodes;
    for (const placement::Process& process : rollout->processes) nodes.push_back(process.node_rank);
    on_nodes("agentloop", std::move(nodes), {});
  }

  void add_tools() {
    const bool is_evaluation = program_.program == RlinfProgram::MultiAgentEvaluation;
    const std::int32_t each = is_evaluation && program_.tools_are_online ? 1 : kToolsOfNode;
    const std::int64_t all =
        2 * std::int64_t{each} * static_cast<std::int64_t>(document_.inventory.nodes.size());
    if (all > placement::kProcessesMax) {
      errors_.push_back({.kind = placement::ErrorKind::RankFormat,
                         .stage = placement::Stage::Resolve,
                         .subject = "tools",
                         .found = std::to_string(all) + " processes, " + std::to_string(each) +
                                  " of search and of access on each node",
                         .needed = "at most " + std::to_string(placement::kProcessesMax),
                         .remedy = "place on fewer nodes"});
      return;
    }
    std::vector<std::int32_t> nodes;
    for (std::size_t node = 0; node < document_.inventory.nodes.size(); ++node)
      nodes.insert(nodes.end(), static_cast<std::size_t>(each), static_cast<std::int32_t>(node));
    on_nodes("search", nodes, "search");
    on_nodes("access", std::move(nodes), "access");
  }

  /// Servers on rollout's own devices; then rollout's processes only ask them.
  void add_servers() {
    const ServerWords& words = program_.servers;
    if (words.has_server)
      add_component(placement::resolve_packed_beside(
                        document_.inventory, document_.rules, "rollout", words.devices, errors_),
                    "sglang_server",
                    words.server_name);
    if (words.has_router) on_nodes("sglang_router", {0}, words.router_name);
  }

  const PlacementDocument& document_;
  const ProgramFacts& program_;
  Plan& plan_;
  PlacementErrors& errors_;
};

}  // namespace

const ComponentPlan* find_component(const Plan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.components, name, &ComponentPlan::name);
  return found == plan.components.end() ? nullptr : &*found;
}

bool is_started(const ProgramFacts& program, Mode mode, const std::string& component) {
  switch (program.program) {
    case RlinfProgram::Reasoning:
      return reasoning_starts(program, mode, component);
    case RlinfProgram::Agent:
    case RlinfProgram::Coding:
    case RlinfProgram::AgentLightning:
      return agent_starts(program, mode, component);
    case RlinfProgram::Rstar2:
      return agent_starts(program, mode, component) || component == "reward";
    case RlinfProgram::AgentEvaluation:
      return component == "rollout";
    case RlinfProgram::MultiAgent:
      return component == "rollout" || component == "actor" ||
             (component == kJudge && program.use_local_judge);
    case RlinfProgram::MultiAgentEvaluation:
      return component == "rollout" || component == placement::kFixedWorker ||
             (component == kJudge && program.use_local_judge);
    case RlinfProgram::Embodied:
      return embodied_starts(program, component);
    case RlinfProgram::EmbodiedEvaluation:
      return component == "rollout" || component == "env";
    case RlinfProgram::FineTuning:
      return component == "actor";
    case RlinfProgram::Offline:
      return component == "actor" ||
             (program.evaluates && (component == "rollout" || component == "env"));
    case RlinfProgram::Collection:
      return component == "env";
  }
  return true;
}

void start_groups(const PlacementDocument& document,
                  Plan& plan,
                  std::vector<std::string>& not_started,
                  PlacementErrors& errors) {
  const ProgramFacts& program = *document.program;
  std::erase_if(plan.components, [&](const ComponentPlan& component) {
    const bool starts = is_started(program, plan.mode, component.name);
    if (!starts) not_started.push_back(component.name);
    return !starts;
  });
  for (ComponentPlan& component : plan.components)
    if (component.name == "reward_server") component.group_name = program.servers.server_name;
  DerivedGroups(document, plan, errors).add();
}

}  // namespace orrery::scenarios
