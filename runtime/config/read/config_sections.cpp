#include "runtime/config/read/config_sections.hpp"

#include "scenarios/language/yaml/section_table.hpp"

namespace orrery::runtime {
namespace {

constexpr scenarios::SectionKeys kSections[]{
    {"controller",
     {"name agents_address http_address advertised_url tls tokens_file store policy placer "
      "planner forecast settings seed cluster closed_cluster quotas priority_classes "
      "relaunch_command "
      "relaunch_command_timeout "
      "node_check"}},
    {"tls", {"ca certificate key"}},
    {"store", {"sqlite etcd_endpoints etcd_prefix etcd_tls leader_lease snapshot_every"}},
    {"planner", {"deadline memory"}},
    {"forecast", {"deadline memory refresh records accuracy_file"}},
    {"settings",
     {"node_lease fence_margin takeover_grace retain_finished retain_finished_max "
      "preemption_grace lemon_incidents lemon_window exclusion kill_deadline"}},
    {"cluster", {"groups"}},
    {"cluster.groups",
     {"name nodes node_names devices_per_node gpus_per_node device_model gpu cpu memory "
      "nodes_per_rack nodes_per_nvlink_domain vendor hardware spares ports"}},
    {"agent",
     {"node group controllers address state tls inventory worker_user volume_roots "
      "container_runtime log_size log_files kill_workers_at_exit preemption_notice launcher"}},
    {"inventory", {"cpu memory devices device_model nvml_library hardware_file ports"}},
};

const scenarios::SectionTable& table() {
  static const scenarios::SectionTable table(kSections);
  return table;
}

}  // namespace

std::span<const scenarios::Section> config_sections() { return table().all(); }

const scenarios::Section& config_section(std::string_view name) { return table().find(name); }

}  // namespace orrery::runtime
