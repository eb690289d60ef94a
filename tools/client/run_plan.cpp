#include "tools/client/run_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery::cli {
namespace {

constexpr std::int64_t kMib = std::int64_t{1} << 20;
constexpr std::int32_t kMilli = 1000;

Error unfit(const char* option, std::string message) {
  return Error{.subject = std::string("orrery run: ") + option, .message = std::move(message)};
}

/// "4" where all nodes have so many, else "2 to 8".
std::string range_text(std::int32_t low, std::int32_t high) {
  return low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high);
}

/// Processes of a node where it has one for each of `count` things of every node that has some.
Result<std::int32_t> one_for_each(std::span<const NodeFacts> nodes,
                                  const char* things,
                                  std::int32_t (*count)(const NodeFacts&)) {
  std::int32_t low = 0;
  std::int32_t high = 0;
  for (const NodeFacts& node : nodes) {
    const std::int32_t has = count(node);
    if (has == 0) continue;
    low = low == 0 ? has : std::min(low, has);
    high = std::max(high, has);
  }
  if (high == 0)
    return unfit("--nproc-per-node",
                 std::string("no node with ") + things +
                     " found, but their number is to be that of the processes; write a number");
  if (low < high)
    return unfit("--nproc-per-node",
                 "nodes with " + range_text(low, high) + " " + things +
                     " found, needed the same number on each; write how many processes a node "
                     "shall have");
  return low;
}

Result<std::int32_t> processes_of_a_node(const RunRequest& request,
                                         std::span<const NodeFacts> nodes,
                                         bool have_devices) {
  const bool by_devices =
      request.per_node_is == PerNode::Devices ||
      (request.per_node_is == PerNode::DevicesElseCores && have_devices && request.devices != 0);
  if (request.per_node_is == PerNode::Number) return request.per_node;
  if (!by_devices)
    return one_for_each(nodes, "cores", [](const NodeFacts& node) {
      return static_cast<std::int32_t>(node.cpu_millis / kMilli);
    });
  auto devices = one_for_each(nodes, "devices", [](const NodeFacts& node) { return node.devices; });
  if (!devices || *devices >= request.devices.value_or(1))
    return devices ? *devices / request.devices.value_or(1) : devices;
  return unfit("--devices-per-proc",
               std::to_string(*request.devices) + " found, but a node has " +
                   std::to_string(*devices) + " devices; ask for fewer");
}

/// As a YAML string: what JSON quotes is one.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A name as a person writes it, quoted where YAML would take it for nothing.
std::string word(const std::string& text) {
  const bool is_nothing = text == "null" || text == "Null" || text == "NULL";
  return is_nothing ? quoted(text) : text;
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + quoted(word);
  return "[" + out + "]";
}

std::string resources_of(const RunPlan& plan) {
  std::string out;
  if (!plan.cpus.empty()) out += "    cpu: " + plan.cpus + "\n";
  if (!plan.memory.empty()) out += "    memory: " + plan.memory + "\n";
  return out;
}

/// What each process runs; the check of its node, where it is asked for, becomes the command.
std::vector<std::string> whole_command(const RunRequest& request, const RunPlan& plan) {
  if (request.check_program.empty()) return request.command;
  std::vector<std::string> out{request.check_program + (plan.devices > 0 ? "-cuda" : ""), "--"};
  out.insert(out.end(), request.command.begin(), request.command.end());
  return out;
}

}  // namespace

Result<RunPlan> run_plan(const RunRequest& request,
                         std::span<const NodeFacts> nodes,
                         ShareRule rule) {
  RunPlan out{.name = request.name, .cpus = request.cpus, .memory = request.memory};
  const auto with_devices =
      std::ranges::count_if(nodes, [](const NodeFacts& node) { return node.devices > 0; });
  const bool have_devices = with_devices >= request.nodes_min;
  const auto per_node = processes_of_a_node(request, nodes, have_devices);
  if (!per_node) return per_node.errors();
  out.per_node = *per_node;
  const bool by_cores = request.per_node_is == PerNode::Cores ||
                        (request.per_node_is == PerNode::DevicesElseCores && !have_devices);
  const bool by_devices = request.per_node_is == PerNode::Devices;
  out.devices = request.devices.value_or(by_devices || (have_devices && !by_cores) ? 1 : 0);
  out.leaves_devices = !request.devices && out.devices == 0 && with_devices > 0;
  if (rule == ShareRule::JobFile || nodes.empty()) return out;
  const auto least = [&](std::int64_t NodeFacts::*what) {
    return std::ranges::min(nodes, {}, what).*what / out.per_node;
  };
  if (out.cpus.empty())
    out.cpus = std::to_string(std::max<std::int64_t>(least(&NodeFacts::cpu_millis), 1)) + "m";
  if (out.memory.empty())
    out.memory =
        std::to_string(std::max<std::int64_t>(least(&NodeFacts::memory_bytes) / kMib, 1)) + "MiB";
  return out;
}

std::string run_job_file(const RunRequest& request, const RunPlan& plan) {
  std::string out = "name: " + word(plan.name) + "\nfamily: torch\n";
  if (!request.priority.empty()) out += "priority: " + word(request.priority) + "\n";
  if (!request.group.empty()) out += "group: " + quoted(request.group) + "\n";
  // All start anew when one fails, as under torchrun: peers of a rank that is gone wait for it.
  out += "recovery: job\nbackoff_limit: " + std::to_string(request.max_restarts) + "\n";
  if (!request.is_elastic())
    out += "virtual_clusters:\n  nodes: {nodes: " + std::to_string(request.nodes_min) +
           ", bundles_per_node: " + std::to_string(plan.per_node) +
           ", devices_per_bundle: " + std::to_string(plan.devices) + ", strategy: strict_spread}\n";
  out += "roles:\n  " + word(request.role) + ":\n";
  if (request.is_elastic()) {
    out += "    replicas: {min: " + std::to_string(plan.world_min(request)) +
           ", max: " + std::to_string(request.nodes_max * plan.per_node) +
           "}\n    devices: " + std::to_string(plan.devices) + "\n";
  } else {
    out += "    virtual_cluster: nodes\n";
  }
  out += resources_of(plan) + "    working_directory: " + quoted(request.folder) +
         "\n    command: " + quoted_list(whole_command(request, plan)) + "\n";
  std::vector<KeyValue> environment = request.environment;
  if (plan.per_node > 1 && !request.threads.empty())
    environment.push_back({"OMP_NUM_THREADS", request.threads});
  if (environment.empty()) return out;
  out += "    env:\n";
  for (const KeyValue& variable : environment)
    out += "      " + word(variable.key) + ": " + quoted(variable.value) + "\n";
  return out;
}

}  // namespace orrery::cli
