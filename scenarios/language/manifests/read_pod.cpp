// What of a pod template becomes part of a role.
#include <algorithm>
#include <utility>

#include "core/job/check_program.hpp"
#include "scenarios/language/manifests/pod_template.hpp"

namespace orrery::scenarios {
namespace {

constexpr Bytes kDefaultMemory{std::int64_t{2} << 30};
constexpr MilliCpu kDefaultCpu{1000};
constexpr Duration kDefaultGrace = Duration::seconds(30);
constexpr std::string_view kContainerRole = "di-container";
constexpr std::string_view kDevices = "nvidia.com/gpu";

const std::string* text_at(const YamlNode& node, std::string_view key) {
  const YamlNode* found = value_at(&node, {key});
  return found != nullptr && found->is_scalar() ? &found->scalar : nullptr;
}

std::span<const YamlNode> items_of(const YamlNode* list) {
  return list == nullptr ? std::span<const YamlNode>{} : std::span(list->items);
}

/// "source:target" of a volume of Kubernetes: what has no path on the host is a folder of the job,
/// or in memory.
std::string volume_text(const YamlNode& volume,
                        const std::string& name,
                        const std::string& target) {
  const YamlNode* host = value_at(&volume, {"hostPath", "path"});
  if (host != nullptr && host->is_scalar()) return host->scalar + ":" + target;
  const YamlNode* medium = value_at(&volume, {"emptyDir", "medium"});
  return name + ":" + target + (medium != nullptr && medium->scalar == "Memory" ? ":memory" : "");
}

std::optional<std::int32_t> parse_device_count(std::string_view text) {
  const auto count = parse_integer(text);
  if (!count || *count < 0 || *count > 64) return std::nullopt;
  return static_cast<std::int32_t>(*count);
}

template <class T>
void quantity(
    Reading& reading, const YamlNode& node, std::string subject, std::optional<T> value, T& to) {
  if (value)
    to = *value;
  else
    reading.fail(node.origin,
                 std::move(subject),
                 found_instead(node, "a Kubernetes quantity", "write for example 2 or 4Gi"));
}

}  // namespace

const YamlNode* value_at(const YamlNode* node, std::initializer_list<std::string_view> path) {
  for (std::string_view key : path) {
    if (node == nullptr) return nullptr;
    node = node->find(key);
  }
  return node == nullptr || node->is_null() ? nullptr : node;
}

const YamlNode* worker_container(const YamlNode* pod_template) {
  const YamlNode* containers = value_at(pod_template, {"spec", "containers"});
  if (containers == nullptr || containers->items.empty()) return nullptr;
  for (const YamlNode& container : containers->items) {
    const YamlNode* name = value_at(&container, {"name"});
    if (name != nullptr && name->scalar == kContainerRole) return &container;
  }
  return &containers->items.front();
}

std::string put_in_variables(std::string_view text,
                             const std::vector<KeyValue>& environment,
                             std::vector<std::string>& unknown) {
  std::string out;
  while (!text.empty() && out.size() <= kWordMax) {
    const std::size_t at = std::min(text.find('$'), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    const std::size_t end = text.starts_with("$(") ? text.find(')') : std::string_view::npos;
    if (text.starts_with("$$") || end == std::string_view::npos) {
      out += '$';
      text.remove_prefix(text.starts_with("$$") ? 2 : 1);
      continue;
    }
    const std::string_view name = text.substr(2, end - 2);
    // The last of several of one name holds, as in the worker's environment.
    const auto variable = std::find_if(environment.rbegin(),
                                       environment.rend(),
                                       [&](const KeyValue& each) { return each.key == name; });
    if (variable != environment.rend())
      out += variable->value;
    else
      out += text.substr(0, end + 1);
    if (variable == environment.rend()) unknown.emplace_back(name);
    text.remove_prefix(end + 1);
  }
  return out;
}

void PodReader::read(const YamlNode* pod_template,
                     const YamlNode* volumes,
                     const std::string& subject,
                     RoleSpec& role) {
  role.bundle = {kDefaultCpu, kDefaultMemory, 0, Share{}, ""};
  if (use_ == JobUse::Run && pod_template != nullptr)
    judge_pod_template(reading_, *pod_template, volumes, subject);
  const YamlNode* container = worker_container(pod_template);
  if (container != nullptr)
    read_container(*container, subject + ".template", role);
  else if (pod_template != nullptr)
    reading_.fail(pod_template->origin,
                  subject + ".template",
                  "has no container, one is needed; add spec.containers with name di-container");
  const YamlNode* of_pod = value_at(pod_template, {"spec", "volumes"});
  for (const YamlNode* list : {of_pod, volumes})
    if (list != nullptr && list->items.size() > kVolumesMax)
      return reading_.fail(list->origin,
                           subject,
                           "has " + std::to_string(list->items.size()) + " volumes, at most " +
                               std::to_string(kVolumesMax) + " can be mounted; remove some");
  read_volumes(pod_template, volumes, role);
  read_labels(value_at(pod_template, {"metadata", "labels"}), subject + ".template.metadata");
  read_grace(value_at(pod_template, {"spec", "terminationGracePeriodSeconds"}),
             subject + ".template.spec.terminationGracePeriodSeconds");
}

// Adds a volume once for each of its mounts: one that the worker does not mount is nothing to it.
void PodReader::add_mounts(const YamlNode& volume,
                           const std::string& name,
                           const YamlNode* container,
                           RoleSpec& role) {
  const YamlNode* config_map = value_at(&volume, {"configMap"});
  for (const YamlNode& mount : items_of(value_at(container, {"volumeMounts"}))) {
    const std::string* mounted = text_at(mount, "name");
    const std::string* path = text_at(mount, "mountPath");
    if (mounted == nullptr || path == nullptr || *mounted != name) continue;
    role.volumes.push_back(config_map == nullptr ? volume_text(volume, name, *path)
                                                 : folder_of(*config_map, name) + ":" + *path);
  }
}

void PodReader::read_volumes(const YamlNode* pod_template, const YamlNode* of_job, RoleSpec& role) {
  const YamlNode* container = worker_container(pod_template);
  // Behind the template's own come DI-orchestrator's, which every pod gets.
  for (const YamlNode* list : {value_at(pod_template, {"spec", "volumes"}), of_job})
    for (const YamlNode& volume : items_of(list))
      if (const std::string* name = text_at(volume, "name"))
        add_mounts(volume, *name, container, role);
}

void PodReader::read_container(const YamlNode& container,
                               const std::string& subject,
                               RoleSpec& role) {
  for (const YamlNode& item : items_of(value_at(&container, {"env"}))) {
    const std::string* name = text_at(item, "name");
    if (name == nullptr) continue;
    const YamlNode* value = value_at(&item, {"value"});
    role.environment.push_back({*name,
                                value == nullptr
                                    ? std::string()
                                    : put_in(*value, subject + ".env." + *name, role.environment)});
  }
  read_command(container, subject, role);
  read_resources(container, subject + ".resources", role.bundle);
  if (const std::string* image = text_at(container, "image")) role.image = *image;
  if (const std::string* folder = text_at(container, "workingDir"))
    role.working_directory = *folder;
}

void PodReader::read_command(const YamlNode& container,
                             const std::string& subject,
                             RoleSpec& role) {
  for (const std::string key : {"command", "args"}) {
    const YamlNode* list = value_at(&container, {key});
    if (list == nullptr) continue;
    if (!list->is_sequence())
      reading_.fail(list->origin,
                    subject + "." + key,
                    found_instead(*list, "a list", "write each word behind a '-'"));
    if (use_ == JobUse::Run && key == "args" && role.command.empty() && !list->items.empty())
      reading_.fail(list->origin,
                    subject + ".args",
                    "stand without a command, one is needed: what the image starts by itself is "
                    "not known here; add command: [...]");
    for (const YamlNode& item : list->items)
      if (item.is_scalar())
        role.command.push_back(put_in(item, subject + "." + key, role.environment));
  }
}

std::string PodReader::put_in(const YamlNode& text,
                              const std::string& subject,
                              const std::vector<KeyValue>& environment) {
  std::vector<std::string> unknown;
  std::string done = put_in_variables(text.scalar, environment, unknown);
  if (done.size() > kWordMax) {
    done.clear();
    reading_.fail(text.origin,
                  subject,
                  "is longer than " + std::to_string(kWordMax) +
                      " bytes, which no program can be given; shorten it");
  }
  if (use_ == JobUse::Run)
    for (const std::string& name : unknown)
      if (name.starts_with("DI_") || name.starts_with("ORRERY_"))
        reading_.fail(text.origin,
                      subject,
                      "names $(" + name +
                          "), which is not known before the worker starts; write ${" + name +
                          "} in a command that a shell runs");
  return done;
}

void PodReader::read_labels(const YamlNode* labels, const std::string& subject) {
  if (labels == nullptr) return;
  for (const YamlEntry& entry : labels->entries) {
    if (job_.labels.size() > kLabelsMax) return;
    if (!entry.value.is_scalar() && !entry.value.is_null()) continue;
    const auto label = std::find_if(job_.labels.begin(),
                                    job_.labels.end(),
                                    [&](const KeyValue& each) { return each.key == entry.key; });
    if (label == job_.labels.end())
      job_.labels.push_back({entry.key, entry.value.scalar});
    else if (use_ == JobUse::Run && label->value != entry.value.scalar)
      reading_.warn(entry.key_origin,
                    subject + ".labels." + entry.key,
                    "is ignored: the job has the label already, as '" + label->value + "'");
  }
}

void PodReader::read_grace(const YamlNode* seconds, const std::string& subject) {
  Duration grace = kDefaultGrace;
  const auto value =
      seconds == nullptr || !seconds->is_scalar() ? std::nullopt : parse_integer(seconds->scalar);
  constexpr std::int64_t kLongest = 366L * 24 * 3600;
  if (value && *value >= 0 && *value <= kLongest)
    grace = Duration::seconds(*value);
  else if (seconds != nullptr && use_ == JobUse::Run)
    reading_.fail(seconds->origin,
                  subject,
                  found_instead(*seconds,
                                "a whole number of seconds from 0 to " + std::to_string(kLongest),
                                "correct it"));
  job_.drain_grace = grace_seen_ ? std::max(job_.drain_grace, grace) : grace;
  grace_seen_ = true;
}

void PodReader::read_resources(const YamlNode& container,
                               const std::string& subject,
                               Bundle& bundle) {
  for (std::string_view kind : {"requests", "limits"}) {
    const YamlNode* resources = value_at(&container, {"resources", kind});
    if (resources == nullptr) continue;
    const auto is_first = [&](std::string_view key) {
      return kind == "requests" || value_at(&container, {"resources", "requests", key}) == nullptr;
    };
    if (const YamlNode* cpu = value_at(resources, {"cpu"}); cpu != nullptr && is_first("cpu"))
      quantity(reading_, *cpu, subject + ".cpu", parse_cpu(cpu->scalar), bundle.cpu);
    if (const YamlNode* memory = value_at(resources, {"memory"});
        memory != nullptr && is_first("memory"))
      quantity(reading_,
               *memory,
               subject + ".memory",
               parse_kubernetes_size(memory->scalar),
               bundle.memory);
    if (const YamlNode* devices = value_at(resources, {kDevices}))
      quantity(reading_,
               *devices,
               subject + "." + std::string(kDevices),
               parse_device_count(devices->scalar),
               bundle.devices);
  }
}

}  // namespace orrery::scenarios
