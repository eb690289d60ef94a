#include "runtime/config/read/config_sections.hpp"

#include <array>

#include "core/base/invariant.hpp"

namespace orrery::runtime {
namespace {

using Keys = std::string_view;

constexpr Keys kController[]{"name",
                             "agents_address",
                             "http_address",
                             "advertised_url",
                             "tls",
                             "tokens_file",
                             "store",
                             "policy",
                             "settings",
                             "seed",
                             "cluster",
                             "closed_cluster",
                             "quotas",
                             "relaunch_command",
                             "relaunch_command_timeout",
                             "node_check"};
constexpr Keys kTls[]{"ca", "certificate", "key"};
constexpr Keys kStore[]{
    "sqlite", "etcd_endpoints", "etcd_prefix", "etcd_tls", "leader_lease", "snapshot_every"};
constexpr Keys kSettings[]{"node_lease",
                           "fence_margin",
                           "takeover_grace",
                           "retain_finished",
                           "retain_finished_max",
                           "preemption_grace",
                           "lemon_incidents",
                           "lemon_window",
                           "exclusion"};
constexpr Keys kGroup[]{"name",
                        "nodes",
                        "node_names",
                        "devices_per_node",
                        "gpus_per_node",
                        "device_model",
                        "gpu",
                        "cpu",
                        "memory",
                        "nodes_per_rack",
                        "nodes_per_nvlink_domain",
                        "vendor",
                        "hardware",
                        "spares"};
constexpr Keys kCluster[]{"groups"};
constexpr Keys kAgent[]{"node",
                        "group",
                        "controllers",
                        "address",
                        "state",
                        "tls",
                        "inventory",
                        "worker_user",
                        "volume_roots",
                        "container_runtime",
                        "log_size",
                        "log_files",
                        "kill_workers_at_exit",
                        "launcher"};
constexpr Keys kInventory[]{
    "cpu", "memory", "devices", "device_model", "nvml_library", "hardware_file"};

constexpr std::array kSections{
    scenarios::Section{"controller", kController},
    scenarios::Section{"tls", kTls},
    scenarios::Section{"store", kStore},
    scenarios::Section{"settings", kSettings},
    scenarios::Section{"cluster", kCluster},
    scenarios::Section{"cluster.groups", kGroup},
    scenarios::Section{"agent", kAgent},
    scenarios::Section{"inventory", kInventory},
};

}  // namespace

std::span<const scenarios::Section> config_sections() { return kSections; }

const scenarios::Section& config_section(std::string_view name) {
  for (const scenarios::Section& section : kSections)
    if (section.name == name) return section;
  invariant(false, "a section that is asked for is one of the settings'");
  return kSections.front();
}

}  // namespace orrery::runtime
