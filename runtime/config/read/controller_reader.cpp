#include <algorithm>
#include <set>

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

constexpr Duration kPlannerDeadlineLeast = Duration::milliseconds(100);
constexpr Duration kPlannerDeadlineMost = Duration::seconds(3600);
constexpr Bytes kPlannerMemoryLeast{256 << 20};
constexpr Bytes kForecastMemoryLeast{64 << 20};
constexpr Duration kLeaderLeaseMax = Duration::seconds(3600);

void read_store(const MapReader& top, const std::string& directory, StoreConfig& store) {
  const YamlNode* node = top.find("store");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, config_section("store"), "store");
  read_path(reader, "sqlite", directory, store.sqlite);
  read_tls(reader, "etcd_tls", directory, store.etcd_tls);
  read_addresses(
      reader, "etcd_endpoints", "etcd_endpoints: [127.0.0.1:2379]", store.etcd_endpoints);
  for (const std::string& endpoint : store.etcd_endpoints)
    read_exposure(reader, "etcd_endpoints", endpoint, store.etcd_tls);
  reader.read_text("etcd_prefix", store.etcd_prefix);
  if (!store.etcd_prefix.starts_with('/') || store.etcd_prefix.ends_with('/'))
    reader.fail("etcd_prefix",
                "is '" + store.etcd_prefix +
                    "', a path that begins with '/' and does not end with one is needed; write "
                    "for example /orrery");
  reader.read_duration("leader_lease", store.leader_lease);
  if (store.leader_lease < Duration::seconds(1) || store.leader_lease > kLeaderLeaseMax ||
      store.leader_lease.ns % Duration::seconds(1).ns != 0)
    reader.fail("leader_lease",
                "is no number of whole seconds from 1s to 1h, in which etcd counts; write for "
                "example 3s");
  reader.read_integer("snapshot_every", store.snapshot_every, 1, 1'000'000'000);
  if (reader.has("sqlite") && reader.has("etcd_endpoints"))
    reader.fail("sqlite",
                "stands beside etcd_endpoints, one store is needed; remove one of the two");
  for (const std::string_view key : {"etcd_prefix", "etcd_tls", "leader_lease"})
    if (reader.has(key) && !reader.has("etcd_endpoints"))
      reader.fail(key, "has a meaning with etcd_endpoints only; add them or remove it");
}

/// What stands in the file about one group, with the names of its nodes.
NodeGroup read_group(const MapReader& reader, std::size_t index) {
  std::vector<std::string> words;
  reader.read_texts("node_names", words);
  std::vector<std::string> names;
  for (const std::string& word : words) {
    auto expanded = expand_node_names(word);
    if (!expanded) {
      reader.fail(
          "node_names",
          "has '" + word + "', a name or many in brackets are needed; write for example gpu-[1-8]");
      continue;
    }
    for (std::string& name : *expanded) {
      if (!is_dns_label(name))
        reader.fail(
            "node_names",
            "has '" + name + "', a DNS label (a-z, 0-9, '-') is needed; give the node such a name");
      names.push_back(std::move(name));
    }
  }
  // One, where what is wrong with the names is said already.
  const auto named = static_cast<std::int32_t>(std::max<std::size_t>(names.size(), 1));
  NodeGroup group = scenarios::read_node_group(reader, "group-" + std::to_string(index), named);
  reader.read_text("name", group.name);
  if (words.empty())
    reader.missing("node_names", "node_names: [gpu-1, gpu-2] or node_names: [\"gpu-[1-8]\"]");
  else if (reader.has("nodes") && static_cast<std::size_t>(group.count) != names.size())
    reader.fail("nodes",
                "is " + std::to_string(group.count) + ", but node_names has " +
                    std::to_string(names.size()) + "; correct one of the two, or remove nodes");
  group.node_names = std::move(names);
  return group;
}

void read_groups(const MapReader& top, std::vector<NodeGroup>& groups) {
  const YamlNode* node = top.find("cluster");
  if (node == nullptr) return;
  const MapReader cluster(top.reading(), *node, config_section("cluster"), "cluster");
  std::set<std::string> group_names;
  std::set<std::string> node_names;
  for (const YamlNode& item : cluster.items("groups")) {
    const std::string subject = "cluster.groups[" + std::to_string(groups.size()) + "]";
    const MapReader reader(top.reading(), item, config_section("cluster.groups"), subject);
    NodeGroup group = read_group(reader, groups.size());
    if (!group_names.insert(group.name).second)
      reader.fail("name", "is '" + group.name + "', which stands twice; give each group a name");
    for (const std::string& name : group.node_names)
      if (!node_names.insert(name).second)
        reader.fail("node_names", "has '" + name + "' a second time, once is needed; remove one");
    groups.push_back(std::move(group));
  }
}

bool is_sound_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return false;
  std::string_view host = url.substr(scheme + 3);
  if (host.ends_with('/')) host.remove_suffix(1);
  return parse_address(host).has_value() || parse_address(std::string(host) + ":443").has_value();
}

void read_advertised_url(const MapReader& top, ControllerConfig& config) {
  top.read_text("advertised_url", config.advertised_url);
  const std::string& url = config.advertised_url;
  if (!top.has("advertised_url")) return;
  const bool plain = url.starts_with("http://");
  if ((!plain && !url.starts_with("https://")) || !is_sound_url(url)) {
    top.fail("advertised_url",
             "is '" + url +
                 "', http:// or https:// with HOST:PORT is needed; write for example "
                 "https://controller.example:22100");
    return;
  }
  const auto address = parse_address(url.substr(sizeof("http://") - 1));
  if (plain && !(address && is_local(*address)))
    top.fail("advertised_url",
             "is '" + url +
                 "', which other machines would use unencrypted, https:// is needed there; use "
                 "https:// or 127.0.0.1");
}

void read_relaunch(const MapReader& top, const std::string& directory, ControllerConfig& config) {
  top.read_texts("relaunch_command", config.relaunch_command);
  std::vector<std::string>& command = config.relaunch_command;
  const YamlNode* words = top.find("relaunch_command");
  if (words != nullptr && words->is_sequence() && command.empty())
    top.fail("relaunch_command",
             "names no program, one is needed; write for example [/usr/local/bin/replace-node] or "
             "remove it");
  // A bare name is looked up as the shell would; what has a "/" is a path.
  if (!command.empty() && command.front().find('/') != std::string::npos)
    command.front() = placed_path(*top.find("relaunch_command"), directory, command.front());
  top.read_duration("relaunch_command_timeout", config.relaunch_command_timeout);
  if (config.relaunch_command_timeout.ns <= 0)
    top.fail("relaunch_command_timeout", "is 0, a time above 0 is needed; write for example 15min");
}

/// The deadline and the memory of a helper process, `memory_least` bytes at least.
struct HelperNeeds {
  Bytes memory_least;
  const char* least;           ///< In words.
  const char* deadline_usual;  ///< To write.
  const char* memory_usual;
};

void read_helper(const MapReader& reader,
                 const HelperNeeds& needs,
                 Duration& deadline,
                 Bytes& memory) {
  reader.read_duration("deadline", deadline);
  if (deadline < kPlannerDeadlineLeast || deadline > kPlannerDeadlineMost)
    reader.fail("deadline",
                std::string("is out of range, 100ms to 1h is needed; write for example ") +
                    needs.deadline_usual);
  reader.read_size("memory", memory);
  if (memory < needs.memory_least)
    reader.fail("memory",
                std::string("is too little for a program and its state, ") + needs.least +
                    " at least is needed; write for example " + needs.memory_usual);
}

void read_planner(const MapReader& top, PlannerConfig& planner) {
  const YamlNode* node = top.find("planner");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, config_section("planner"), "planner");
  read_helper(
      reader, {kPlannerMemoryLeast, "256MiB", "30s", "8GiB"}, planner.deadline, planner.memory);
}

void read_forecast(const MapReader& top, const std::string& directory, ForecastConfig& forecast) {
  const YamlNode* node = top.find("forecast");
  if (node == nullptr) return;
  const MapReader reader(top.reading(), *node, config_section("forecast"), "forecast");
  read_helper(
      reader, {kForecastMemoryLeast, "64MiB", "10s", "2GiB"}, forecast.deadline, forecast.memory);
  reader.read_duration("refresh", forecast.refresh);
  if (forecast.refresh.ns < 0 || forecast.refresh > kPlannerDeadlineMost)
    reader.fail("refresh", "is out of range, 0 (never) to 1h is needed; write for example 30s");
  reader.read_integer("records", forecast.records, 1000, 1'000'000'000);
  read_path(reader, "accuracy_file", directory, forecast.accuracy_file);
}

void read_timings(const MapReader& top, Settings& settings) {
  top.read_integer("seed", settings.seed, 0, INT64_MAX);
  const YamlNode* node = top.find("settings");
  if (node == nullptr) return;
  scenarios::read_settings(MapReader(top.reading(), *node, config_section("settings"), "settings"),
                           settings);
}

/// The policy with its parameters; what `check` finds has its place in `errors`.
void read_policy(const MapReader& top,
                 const PolicyCheck& check,
                 ControllerConfig& config,
                 Errors& errors) {
  scenarios::PolicyChoice choice;
  choice.name = config.policy;
  const std::size_t before = top.reading().count();
  scenarios::read_policy(top, choice);
  config.policy = choice.name;
  for (const scenarios::Parameter& parameter : choice.parameters)
    config.policy_parameters.push_back({parameter.key, parameter.value});
  if (!check || top.reading().count() > before) return;
  for (Error& error : check(config.policy, config.policy_parameters)) {
    error.file = choice.place;
    for (const scenarios::Parameter& parameter : choice.parameters)
      if (error.subject == "policy." + parameter.key) error.file = parameter.place;
    errors.push_back(std::move(error));
  }
}

void read_controller(const MapReader& top,
                     const ConfigText& source,
                     const PolicyCheck& check,
                     ControllerConfig& config,
                     Errors& errors) {
  const std::string directory = directory_of(source.file);
  config.name = source.host.empty() ? "controller" : source.host;
  top.read_text("name", config.name);
  if (config.name.empty() || config.name.size() > 253)
    top.fail("name", "is empty or too long, 1 to 253 characters are needed; write for example a");
  top.read_text("agents_address", config.agents_address);
  top.read_text("http_address", config.http_address);
  read_tls(top, "tls", directory, config.tls);
  read_exposure(top, "agents_address", config.agents_address, config.tls);
  read_exposure(top, "http_address", config.http_address, config.tls);
  read_advertised_url(top, config);
  read_path(top, "tokens_file", directory, config.tokens_file);
  read_store(top, directory, config.store);
  read_policy(top, check, config, errors);
  scenarios::read_placer(top, config.settings);
  read_planner(top, config.planner);
  read_forecast(top, directory, config.forecast);
  read_timings(top, config.settings);
  read_groups(top, config.groups);
  scenarios::read_quotas(top, config.quotas);
  scenarios::read_priority_classes(top, config.priority_classes);
  top.read_bool("closed_cluster", config.closed_cluster);
  if (config.closed_cluster && config.groups.empty())
    top.fail("closed_cluster",
             "is true, but no node is declared, so none may join; add cluster: groups");
  read_relaunch(top, directory, config);
  top.read_bool("node_check", config.node_check);
}

}  // namespace

Result<ControllerConfig> read_controller_config(const ConfigText& source,
                                                const PolicyCheck& check) {
  Result<ConfigDocument> document = ConfigDocument::parse(source);
  if (!document) return document.errors();
  ControllerConfig config;
  Errors of_policy;
  read_controller(
      MapReader(document->reading(), document->root(), config_section("controller"), ""),
      source,
      check,
      config,
      of_policy);
  Errors errors = document->take_errors();
  errors.insert(errors.end(), of_policy.begin(), of_policy.end());
  if (!errors.empty()) return errors;
  return config;
}

}  // namespace orrery::runtime
