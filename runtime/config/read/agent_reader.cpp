#include <algorithm>
#include <string>
#include <string_view>

#include "core/job/spec.hpp"
#include "runtime/config/address.hpp"
#include "runtime/config/node_names.hpp"
#include "runtime/config/read/config_reader.hpp"
#include "runtime/config/read/config_sections.hpp"
#include "runtime/config/read/document.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::runtime {
namespace {

using scenarios::MapReader;
using scenarios::YamlNode;

/// What a failure report quotes: a log file holds it whole.
constexpr Bytes kLogSizeMin{64 << 10};
constexpr Bytes kLogSizeMax{std::int64_t{1} << 40};

void read_node(const MapReader& top, const ConfigText& source, AgentConfig& config) {
  config.node = node_name_of_host(source.host);
  top.read_text("node", config.node);
  if (!top.has("node") && config.node.empty())
    top.missing(
        "node",
        "node: gpu-1 (this machine is called '" + source.host + "', which gives no DNS label)");
  else if (!is_dns_label(config.node))
    top.fail(
        "node",
        "is '" + config.node + "', a DNS label (a-z, 0-9, '-') is needed; write for example gpu-1");
  top.read_text("group", config.group);
  if (config.group.empty())
    top.fail("group", "is empty, a name is needed; write for example default");
}

/// Where others reach workers: a host without a port.
void read_address(const MapReader& top, AgentConfig& config) {
  top.read_text("address", config.address);
  const bool six = config.address.find(':') != std::string::npos;
  const auto parsed = parse_address((six ? "[" + config.address + "]" : config.address) + ":1");
  if (!parsed || parsed->is_unix())
    top.fail("address",
             "is '" + config.address +
                 "', a host without a port is needed, at which other nodes reach this one; write "
                 "for example 10.0.0.7");
}

void read_inventory(const MapReader& top, const std::string& directory, InventoryConfig& to) {
  const YamlNode* node = top.find("inventory");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, config_section("inventory"), "inventory");
  if (reader.has("cpu")) reader.read_cpu("cpu", to.cpu.emplace());
  if (reader.has("memory")) reader.read_size("memory", to.memory.emplace());
  if (reader.has("devices")) reader.read_integer("devices", to.devices.emplace(), 0, 64);
  reader.read_text("device_model", to.device_model);
  const bool pretends = to.devices.value_or(0) > 0;
  if (pretends && to.device_model.empty())
    reader.fail("devices",
                "asks for pretended devices, and no device_model says what they are; add for "
                "example device_model: gpu");
  if (to.devices == 0 && reader.has("device_model"))
    reader.fail("device_model", "names a model, but devices: 0 hides all; remove one of them");
  // A bare name is searched for as libraries are.
  reader.read_text("nvml_library", to.nvml_library);
  if (to.nvml_library.find('/') != std::string::npos)
    read_path(reader, "nvml_library", directory, to.nvml_library);
  read_path(reader, "hardware_file", directory, to.hardware_file);
  scenarios::read_ports(reader, to.ports);
}

bool is_user_name(std::string_view name) {
  return !name.empty() && name.size() <= 32 && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

void read_workers(const MapReader& top, AgentConfig& config) {
  top.read_text("worker_user", config.worker_user);
  if (top.has("worker_user") && !is_user_name(config.worker_user))
    top.fail("worker_user",
             "is '" + config.worker_user +
                 "', the name of a user of this machine is needed; write for example training");
  top.read_texts("volume_roots", config.volume_roots);
  for (const std::string& root : config.volume_roots)
    if (!root.starts_with('/') || root.find("/../") != std::string::npos || root.ends_with("/.."))
      top.fail("volume_roots",
               "has '" + root +
                   "', a path from the root without '..' is needed; write for example /data");
  top.read_text("container_runtime", config.container_runtime);
  top.read_size("log_size", config.log_size);
  if (config.log_size < kLogSizeMin || config.log_size > kLogSizeMax)
    top.fail("log_size",
             "is " + std::to_string(config.log_size.count) +
                 " bytes, 64KiB to 1TiB are needed; write for example 16MiB");
  top.read_integer("log_files", config.log_files, 1, 1000);
  top.read_bool("kill_workers_at_exit", config.kill_workers_at_exit);
  top.read_duration("preemption_notice", config.preemption_notice);
}

void read_agent(const MapReader& top, const ConfigText& source, AgentConfig& config) {
  const std::string directory = directory_of(source.file);
  read_node(top, source, config);
  read_tls(top, "tls", directory, config.tls);
  read_addresses(top, "controllers", "controllers: [127.0.0.1:22101]", config.controllers);
  for (const std::string& controller : config.controllers)
    read_exposure(top, "controllers", controller, config.tls);
  read_address(top, config);
  read_path(top, "state", directory, config.state);
  read_inventory(top, directory, config.inventory);
  read_workers(top, config);
  top.read_text("launcher", config.launcher);
  if (!config.launcher.empty() && config.launcher != "slurm")
    top.fail("launcher",
             "is '" + config.launcher + "', slurm or nothing is needed; correct or remove it");
}

}  // namespace

Result<AgentConfig> read_agent_config(const ConfigText& source) {
  Result<ConfigDocument> document = ConfigDocument::parse(source);
  if (!document) return document.errors();
  AgentConfig config;
  read_agent(MapReader(document->reading(), document->root(), config_section("agent"), ""),
             source,
             config);
  Errors errors = document->take_errors();
  if (!errors.empty()) return errors;
  return config;
}

}  // namespace orrery::runtime
