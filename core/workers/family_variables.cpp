#include "core/workers/family_variables.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery::workers {
namespace {

using VariableMap = std::vector<KeyValue>;

void add(VariableMap& out, std::string_view name, std::string value) {
  out.push_back({std::string(name), std::move(value)});
}

void add(VariableMap& out, std::string_view name, std::int32_t value) {
  add(out, name, std::to_string(value));
}

void add_master(VariableMap& out, const Endpoint& master) {
  if (master.address.empty()) return;
  add(out, "MASTER_ADDR", master.address);
  if (master.port > 0) add(out, "MASTER_PORT", master.port);
}

/// The place among the role's workers, or what is known of it.
PeerPlace among_role(const Membership& worker) {
  if (worker.in_role) return *worker.in_role;
  PeerPlace out = worker.in_job;
  out.rank = worker.role_rank;
  return out;
}

/// RLinf's name for the kind of accelerator of a node.
std::string_view accelerator_type(const Membership& worker) {
  if (worker.devices.on_node == 0) return "NO_ACCEL";
  switch (worker.vendor) {
    case DeviceVendor::Nvidia:
      return "NV_GPU";
    case DeviceVendor::Amd:
      return "AMD_GPU";
    case DeviceVendor::Ascend:
      return "NPU";
    case DeviceVendor::Custom:
      return "CUSTOM";
  }
  return "NO_ACCEL";
}

/// PyTorch's name for the worker's first device.
std::string torch_device(const Membership& worker) {
  if (worker.devices.in_process.empty()) return "cpu";
  std::string_view kind = "cuda";  // AMD's devices have this name too.
  if (worker.vendor == DeviceVendor::Ascend) kind = "npu";
  if (worker.vendor == DeviceVendor::Custom) kind = "privateuseone";
  return std::string(kind) + ":" + std::to_string(worker.devices.in_process.front());
}

/// Flags that keep Ray from showing devices itself.
std::vector<std::string_view> ray_flags(DeviceVendor vendor) {
  switch (vendor) {
    case DeviceVendor::Nvidia:
      return {"RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"};
    case DeviceVendor::Amd:
      return {"RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES",
              "RAY_EXPERIMENTAL_NOSET_ROCR_VISIBLE_DEVICES"};
    case DeviceVendor::Ascend:
      return {"RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES"};
    case DeviceVendor::Custom:
      return {};
  }
  return {};
}

/// The list as Python prints it, which is how NeMo-RL's workers read it.
template <class Item>
std::string python_list(const std::vector<Endpoint>& endpoints, Item item) {
  std::string out = "[";
  for (const Endpoint& endpoint : endpoints)
    out.append(out.size() > 1 ? ", " : "").append(item(endpoint));
  return out + "]";
}

/// The folder above the one of a program: of "/venv/bin/python" it is "/venv".
std::string environment_folder(std::string_view interpreter) {
  for (int level = 0; level < 2; ++level) {
    const std::size_t slash = interpreter.rfind('/');
    if (slash == std::string_view::npos) return {};
    interpreter = interpreter.substr(0, slash);
  }
  return std::string(interpreter);
}

constexpr std::array<std::string_view, 18> kOrreryNames{"ORRERY_BUNDLES",
                                                        "ORRERY_DEVICES",
                                                        "ORRERY_DEVICE_INDEXES",
                                                        "ORRERY_ENGINE_PORT",
                                                        "ORRERY_GENERATION",
                                                        "ORRERY_HARDWARE",
                                                        "ORRERY_INCARNATION",
                                                        "ORRERY_JOB",
                                                        "ORRERY_LOCAL_RANK",
                                                        "ORRERY_NODE_LOCAL_RANK",
                                                        "ORRERY_NODE_LOCAL_WORLD_SIZE",
                                                        "ORRERY_NODE_RANK",
                                                        "ORRERY_NODES",
                                                        "ORRERY_RANK",
                                                        "ORRERY_ROLE",
                                                        "ORRERY_ROLE_WORLD_SIZE",
                                                        "ORRERY_WORLD_SIZE",
                                                        "ORRERY_CLUSTER_NODE"};

constexpr std::array<std::string_view, 16> kTorchNames{"GROUP_RANK",
                                                       "GROUP_WORLD_SIZE",
                                                       "LOCAL_RANK",
                                                       "LOCAL_WORLD_SIZE",
                                                       "MASTER_ADDR",
                                                       "MASTER_PORT",
                                                       "NODE_RANK",
                                                       "RANK",
                                                       "ROLE_NAME",
                                                       "ROLE_RANK",
                                                       "ROLE_WORLD_SIZE",
                                                       "TORCHELASTIC_MAX_RESTARTS",
                                                       "TORCHELASTIC_RESTART_COUNT",
                                                       "TORCHELASTIC_RUN_ID",
                                                       "TORCHELASTIC_USE_AGENT_STORE",
                                                       "WORLD_SIZE"};

constexpr std::array<std::string_view, 26> kRlinfNames{
    "ACCELERATOR_MODEL",
    "ACCELERATOR_TYPE",
    "CATCH_SYSTEM_FAILURE",
    "CLUSTER_NAMESPACE",
    "CLUSTER_NODE_RANK",
    "GROUP_NAME",
    "ISOLATE_ACCELERATOR",
    "LOCAL_ACCELERATOR_RANK",
    "LOCAL_HARDWARE_RANKS",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "NODE_GROUP_LABEL",
    "NODE_LOCAL_RANK",
    "NODE_LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "RANK",
    "RAY_ACTOR",
    "RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES",
    "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES",
    "RAY_EXPERIMENTAL_NOSET_HIP_VISIBLE_DEVICES",
    "RAY_EXPERIMENTAL_NOSET_ROCR_VISIBLE_DEVICES",
    "VISIBLE_DEVICES",
    "WORKER_NAME",
    "WORLD_SIZE"};

constexpr std::array<std::string_view, 9> kDlroverNames{"ACCELERATE_TORCH_DEVICE",
                                                        "LOCAL_RANK",
                                                        "LOCAL_WORLD_SIZE",
                                                        "MASTER_ADDR",
                                                        "MASTER_PORT",
                                                        "NAME",
                                                        "NODE_RANK",
                                                        "RANK",
                                                        "WORLD_SIZE"};

constexpr std::array<std::string_view, 18> kNemoRlNames{
    "AVAILABLE_ADDR_LIST",
    "AVAILABLE_PORT_LIST",
    "LOCAL_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "NODE_RANK",
    "NRL_WORKER_GROUP",
    "RANK",
    "RAY_CLIENT_MODE",
    "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES",
    "RAY_JOB_ID",
    "RAY_LD_PRELOAD",
    "RAY_RAYLET_PID",
    "RAY_USAGE_STATS_ENABLED",
    "UV_PROJECT_ENVIRONMENT",
    "VIRTUAL_ENV",
    "VLLM_PORT",
    "WORLD_SIZE"};

}  // namespace

std::vector<KeyValue> orrery_variables(const Membership& worker) {
  VariableMap out;
  add(out, "ORRERY_JOB", worker.job);
  add(out, "ORRERY_ROLE", worker.role);
  add(out, "ORRERY_RANK", worker.in_job.rank);
  add(out, "ORRERY_WORLD_SIZE", worker.in_job.size);
  add(out, "ORRERY_LOCAL_RANK", worker.role_rank);
  if (worker.in_role) add(out, "ORRERY_ROLE_WORLD_SIZE", worker.in_role->size);
  add(out, "ORRERY_GENERATION", std::to_string(worker.generation.value));
  add(out, "ORRERY_INCARNATION", std::to_string(worker.incarnation.value));
  add(out, "ORRERY_CLUSTER_NODE", worker.cluster_node);
  add(out, "ORRERY_NODE_RANK", worker.in_job.node);
  add(out, "ORRERY_NODES", worker.in_job.nodes);
  add(out, "ORRERY_NODE_LOCAL_RANK", worker.in_job.local_rank);
  add(out, "ORRERY_NODE_LOCAL_WORLD_SIZE", worker.in_job.local_size);
  add(out, "ORRERY_DEVICES", number_list(worker.devices.assigned));
  add(out, "ORRERY_DEVICE_INDEXES", number_list(worker.devices.in_process));
  if (!worker.hardware.empty()) add(out, "ORRERY_HARDWARE", number_list(worker.hardware));
  if (!worker.group.bundles.empty()) add(out, "ORRERY_BUNDLES", number_list(worker.group.bundles));
  if (worker.group.engine_port > 0) add(out, "ORRERY_ENGINE_PORT", worker.group.engine_port);
  return out;
}

std::vector<KeyValue> torch_variables(const Membership& worker) {
  const PeerPlace& place = worker.in_job;
  const LocalPlace local = local_place(worker.devices, place);
  VariableMap out;
  add(out, "RANK", place.rank);
  add(out, "WORLD_SIZE", place.size);
  add(out, "LOCAL_RANK", local.rank);
  add(out, "LOCAL_WORLD_SIZE", local.size);
  add(out, "GROUP_RANK", place.node);
  add(out, "GROUP_WORLD_SIZE", place.nodes);
  add(out, "NODE_RANK", place.node);
  add(out, "ROLE_NAME", worker.role);
  add(out, "ROLE_RANK", worker.role_rank);
  if (worker.in_role) add(out, "ROLE_WORLD_SIZE", worker.in_role->size);
  add_master(out, worker.job_master);
  if (worker.restarts) {
    add(out, "TORCHELASTIC_RUN_ID", worker.job);
    add(out, "TORCHELASTIC_RESTART_COUNT", worker.restarts->count);
    add(out, "TORCHELASTIC_MAX_RESTARTS", worker.restarts->most);
    // No agent keeps a store for them: rank 0 serves it.
    add(out, "TORCHELASTIC_USE_AGENT_STORE", "False");
  }
  return out;
}

std::vector<KeyValue> rlinf_variables(const Membership& worker) {
  const PeerPlace place = among_role(worker);
  const LocalPlace local = local_place(worker.devices, place);
  VariableMap out;
  add(out, "GROUP_NAME", worker.shown_group());
  add(out, "WORKER_NAME", worker.shown_group() + ":" + std::to_string(place.rank));
  add(out, "RANK", place.rank);
  add(out, "WORLD_SIZE", place.size);
  add(out, "NODE_RANK", place.node);
  add(out, "CLUSTER_NODE_RANK", worker.cluster_node);
  add(out, "NODE_LOCAL_RANK", place.local_rank);
  add(out, "NODE_LOCAL_WORLD_SIZE", place.local_size);
  add(out, "LOCAL_RANK", local.rank);
  add(out, "LOCAL_WORLD_SIZE", local.size);
  add_master(out, worker.role_master);
  add(out, "LOCAL_ACCELERATOR_RANK", worker.devices.first());
  add(out, "VISIBLE_DEVICES", number_list(worker.devices.visible));
  add(out, "ACCELERATOR_TYPE", std::string(accelerator_type(worker)));
  add(out, "ACCELERATOR_MODEL", worker.device_model);
  add(out, "ISOLATE_ACCELERATOR", worker.isolate ? 1 : 0);
  add(out,
      "LOCAL_HARDWARE_RANKS",
      number_list(worker.hardware.empty() ? worker.devices.assigned : worker.hardware));
  add(out, "NODE_GROUP_LABEL", worker.node_group);
  add(out,
      "CLUSTER_NAMESPACE",
      worker.cluster_namespace.empty() ? worker.job : worker.cluster_namespace);
  add(out, "CATCH_SYSTEM_FAILURE", worker.catch_failures ? 1 : 0);
  add(out, "RAY_ACTOR", 1);
  for (const std::string_view flag : ray_flags(worker.vendor)) add(out, flag, 1);
  return out;
}

std::vector<KeyValue> nemo_rl_variables(const Membership& worker) {
  const PeerPlace place = among_role(worker);
  const GroupMembership& group = worker.group;
  VariableMap out;
  add(out, "RANK", place.rank);
  add(out, "WORLD_SIZE", place.size);
  add(out, "LOCAL_RANK", local_place(worker.devices, place).rank);
  add(out, "NODE_RANK", group.logical_node >= 0 ? group.logical_node : place.node);
  add_master(out, worker.role_master);
  if (group.endpoints != nullptr) {
    add(out, "AVAILABLE_ADDR_LIST", python_list(*group.endpoints, [](const Endpoint& endpoint) {
          return "'" + endpoint.address + "'";
        }));
    add(out, "AVAILABLE_PORT_LIST", python_list(*group.endpoints, [](const Endpoint& endpoint) {
          return std::to_string(endpoint.port);
        }));
  }
  add(out, "NRL_WORKER_GROUP", group.prefix.empty() ? worker.shown_group() : group.prefix);
  if (group.engine_port > 0) add(out, "VLLM_PORT", group.engine_port);
  const std::string folder = environment_folder(worker.interpreter);
  if (!folder.empty()) {
    add(out, "VIRTUAL_ENV", folder);
    add(out, "UV_PROJECT_ENVIRONMENT", folder);
  }
  return out;
}

std::vector<KeyValue> dlrover_variables(const Membership& worker) {
  const PeerPlace place = among_role(worker);
  const LocalPlace local = local_place(worker.devices, place);
  VariableMap out;
  add(out,
      "NAME",
      worker.role + "_" + std::to_string(place.size) + "-" + std::to_string(place.rank) + "_" +
          std::to_string(place.local_size) + "-" + std::to_string(place.local_rank));
  add(out, "RANK", place.rank);
  add(out, "WORLD_SIZE", place.size);
  add(out, "LOCAL_RANK", local.rank);
  add(out, "LOCAL_WORLD_SIZE", local.size);
  add(out, "NODE_RANK", place.node);
  add_master(out, worker.role_master);
  add(out, "ACCELERATE_TORCH_DEVICE", torch_device(worker));
  return out;
}

std::vector<KeyValue> family_variables(WorkerFamily family, const Membership& worker) {
  VariableMap out = orrery_variables(worker);
  VariableMap more;
  switch (family) {
    case WorkerFamily::Native:
      break;
    case WorkerFamily::Torch:
      more = torch_variables(worker);
      break;
    case WorkerFamily::RLinf:
      more = rlinf_variables(worker);
      break;
    case WorkerFamily::NemoRl:
      more = nemo_rl_variables(worker);
      break;
    case WorkerFamily::DLRover:
      more = dlrover_variables(worker);
      break;
  }
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::vector<KeyValue> default_variables(WorkerFamily family, DeviceVendor vendor) {
  if (family != WorkerFamily::RLinf || vendor != DeviceVendor::Nvidia) return {};
  return {{"NCCL_CUMEM_ENABLE", "0"}, {"TORCH_NCCL_AVOID_RECORD_STREAMS", "1"}};
}

std::vector<KeyValue> suggested_variables(WorkerFamily family, const Membership& worker) {
  if (family == WorkerFamily::Native || worker.network_interface.empty()) return {};
  VariableMap out{{"GLOO_SOCKET_IFNAME", worker.network_interface}};
  // AMD's RCCL reads NCCL's variables.
  if (worker.vendor == DeviceVendor::Nvidia || worker.vendor == DeviceVendor::Amd)
    add(out, "NCCL_SOCKET_IFNAME", worker.network_interface);
  if (worker.vendor == DeviceVendor::Ascend)
    add(out, "HCCL_SOCKET_IFNAME", worker.network_interface);
  return out;
}

std::vector<std::string_view> reserved_names(WorkerFamily family) {
  std::vector<std::string_view> out(kOrreryNames.begin(), kOrreryNames.end());
  const auto append = [&](const auto& names) { out.insert(out.end(), names.begin(), names.end()); };
  switch (family) {
    case WorkerFamily::Native:
      break;
    case WorkerFamily::Torch:
      append(kTorchNames);
      break;
    case WorkerFamily::RLinf:
      append(kRlinfNames);
      break;
    case WorkerFamily::NemoRl:
      append(kNemoRlNames);
      break;
    case WorkerFamily::DLRover:
      append(kDlroverNames);
      break;
  }
  std::ranges::sort(out);
  return out;
}

std::vector<std::string_view> kept_out_prefixes(WorkerFamily family) {
  switch (family) {
    case WorkerFamily::Native:
      return {};
    case WorkerFamily::Torch:
    case WorkerFamily::RLinf:
    case WorkerFamily::DLRover:
      return {"TORCHELASTIC_"};
    case WorkerFamily::NemoRl:
      return {"MPI_", "OMPI_", "PMIX_", "PMI_", "SLURM_", "TORCHELASTIC_"};
  }
  return {};
}

}  // namespace orrery::workers
