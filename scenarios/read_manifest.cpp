// DI-orchestrator's DIJob, both forms of diengine.opendilab.org/v2alpha1.
#include <algorithm>
#include <utility>

#include "core/discovery/port_ledger.hpp"
#include "scenarios/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr Bytes kDefaultMemory{std::int64_t{2} << 30};
constexpr MilliCpu kDefaultCpu{1000};
constexpr std::string_view kContainer = "di-container";
constexpr std::string_view kDevices = "nvidia.com/gpu";

/// The value at the end of a path of keys in a Kubernetes object, or nullptr.
const YamlNode* at(const YamlNode* node, std::initializer_list<std::string_view> path) {
  for (std::string_view key : path) {
    if (node == nullptr) return nullptr;
    node = node->find(key);
  }
  return node == nullptr || node->is_null() ? nullptr : node;
}

/// The container that DI-engine runs in: the one of the documented name, else the first.
const YamlNode* container_of(const YamlNode* pod_template) {
  const YamlNode* containers = at(pod_template, {"spec", "containers"});
  if (containers == nullptr || containers->items.empty()) return nullptr;
  for (const YamlNode& container : containers->items) {
    const YamlNode* name = at(&container, {"name"});
    if (name != nullptr && name->scalar == kContainer) return &container;
  }
  return &containers->items.front();
}

class TemplateReader {
 public:
  TemplateReader(Reading& reading, std::string subject)
      : reading_(reading), subject_(std::move(subject)) {}

  void read(const YamlNode* pod_template, RoleSpec& role) const {
    role.bundle = {kDefaultCpu, kDefaultMemory, 0, Share{}, ""};
    const YamlNode* container = container_of(pod_template);
    if (container == nullptr) {
      if (pod_template != nullptr)
        reading_.fail(pod_template->origin,
                      subject_ + ".template",
                      "has no container, one is needed; add spec.containers with name "
                      "di-container");
      return;
    }
    append_texts(at(container, {"command"}), "command", role.command);
    append_texts(at(container, {"args"}), "args", role.command);
    read_environment(at(container, {"env"}), role.environment);
    read_resources(*container, role.bundle);
    read_mounts(at(container, {"volumeMounts"}), at(pod_template, {"spec", "volumes"}), role);
  }

  /// DI-orchestrator's own volumes, which every pod gets.
  void add_volumes(const MapReader& spec, const YamlNode* pod_template, RoleSpec& role) const {
    const YamlNode* volumes = spec.find("volumes");
    if (volumes == nullptr) return;
    for (const YamlNode& volume : volumes->items) {
      const YamlNode* name = at(&volume, {"name"});
      if (name == nullptr || !name->is_scalar()) continue;
      role.volumes.push_back(source_of(volume, name->scalar) + ":" +
                             mount_path(container_of(pod_template), name->scalar));
    }
  }

 private:
  static std::string source_of(const YamlNode& volume, const std::string& name) {
    const YamlNode* host = at(&volume, {"hostPath", "path"});
    return host != nullptr && host->is_scalar() ? host->scalar : name;
  }

  static std::string mount_path(const YamlNode* container, const std::string& volume) {
    const YamlNode* mounts = at(container, {"volumeMounts"});
    if (mounts == nullptr) return "";
    for (const YamlNode& mount : mounts->items) {
      const YamlNode* name = at(&mount, {"name"});
      const YamlNode* path = at(&mount, {"mountPath"});
      if (name != nullptr && path != nullptr && name->scalar == volume) return path->scalar;
    }
    return "";
  }

  void append_texts(const YamlNode* list,
                    std::string_view key,
                    std::vector<std::string>& texts) const {
    if (list == nullptr) return;
    if (!list->is_sequence()) {
      reading_.fail(list->origin,
                    subject_ + ".template." + std::string(key),
                    found_instead(*list, "a list", "write each word behind a '-'"));
      return;
    }
    for (const YamlNode& item : list->items)
      if (item.is_scalar()) texts.push_back(item.scalar);
  }

  static void read_environment(const YamlNode* list, std::vector<KeyValue>& environment) {
    if (list == nullptr) return;
    for (const YamlNode& item : list->items) {
      const YamlNode* name = at(&item, {"name"});
      const YamlNode* value = at(&item, {"value"});
      if (name != nullptr && name->is_scalar())
        environment.push_back({name->scalar, value == nullptr ? "" : value->scalar});
    }
  }

  void read_mounts(const YamlNode* mounts, const YamlNode* volumes, RoleSpec& role) const {
    if (volumes != nullptr && mounts != nullptr)
      for (const YamlNode& volume : volumes->items) {
        const YamlNode* name = at(&volume, {"name"});
        if (name == nullptr || !name->is_scalar()) continue;
        for (const YamlNode& mount : mounts->items) {
          const YamlNode* mounted = at(&mount, {"name"});
          const YamlNode* path = at(&mount, {"mountPath"});
          if (mounted != nullptr && path != nullptr && mounted->scalar == name->scalar)
            role.volumes.push_back(source_of(volume, name->scalar) + ":" + path->scalar);
        }
      }
  }

  void read_resources(const YamlNode& container, Bundle& bundle) const {
    for (std::string_view kind : {"requests", "limits"}) {
      const YamlNode* resources = at(&container, {"resources", kind});
      if (resources == nullptr) continue;
      if (const YamlNode* cpu = at(resources, {"cpu"}))
        if (kind == "requests" || at(&container, {"resources", "requests", "cpu"}) == nullptr)
          quantity(*cpu, "cpu", parse_cpu(cpu->scalar), bundle.cpu);
      if (const YamlNode* memory = at(resources, {"memory"}))
        if (kind == "requests" || at(&container, {"resources", "requests", "memory"}) == nullptr)
          quantity(*memory, "memory", parse_kubernetes_size(memory->scalar), bundle.memory);
      if (const YamlNode* devices = at(resources, {kDevices}))
        quantity(*devices, kDevices, parse_device_count(devices->scalar), bundle.devices);
    }
  }

  static std::optional<std::int32_t> parse_device_count(std::string_view text) {
    const auto count = parse_integer(text);
    if (!count || *count < 0 || *count > 64) return std::nullopt;
    return static_cast<std::int32_t>(*count);
  }

  template <class T>
  void quantity(const YamlNode& node, std::string_view key, std::optional<T> value, T& to) const {
    if (value)
      to = *value;
    else
      reading_.fail(node.origin,
                    subject_ + ".template.resources." + std::string(key),
                    found_instead(node, "a Kubernetes quantity", "write for example 2 or 4Gi"));
  }

  Reading& reading_;
  std::string subject_;
};

void read_words(const MapReader& spec, JobSpec& to) {
  spec.read_text("group", to.group);
  spec.read_bool("preemptible", to.preemptible);
  spec.read_enum("cleanPodPolicy", to.clean_pods);
  const YamlNode* priority = spec.find("priority");
  if (priority == nullptr) return;
  if (priority->is_scalar() && (priority->scalar == "normal" || priority->scalar == "high"))
    to.priority = priority->scalar == "high" ? 100 : 0;
  else
    spec.fail("priority", found_instead(*priority, "normal or high", "choose one"));
}

void read_group_form(const MapReader& spec, JobSpec& to) {
  to.family = JobFamily::Group;
  to.backoff_limit = 0;
  to.recovery = RecoveryScope::Job;
  to.rescale = RescaleMode::Restart;
  RoleSpec role;
  role.name = "worker";
  spec.read_integer("minReplicas", role.min_replicas, 0, INT32_MAX);
  role.min_replicas = std::max(role.min_replicas, 1);
  role.max_replicas = role.min_replicas;
  spec.read_integer("maxReplicas", role.max_replicas, 1, INT32_MAX);
  if (const YamlNode* fields = spec.find("engineFields")) {
    const MapReader engine(spec.reading(),
                           *fields,
                           section("jobs.manifest.spec.engineFields"),
                           spec.subject_of("engineFields"));
    engine.read_enum("topology", to.topology);
    engine.read_integer("parallelWorkers", to.parallel_workers, 1, kPortsPerNode - 1);
  }
  if (!spec.has("template"))
    spec.missing("template", "template: {spec: {containers: [{name: di-container}]}}");
  TemplateReader(spec.reading(), spec.subject()).read(spec.find("template"), role);
  to.roles.push_back(std::move(role));
}

void read_task(const MapReader& spec, const YamlNode& node, JobSpec& to) {
  const std::string subject = spec.subject_of("tasks[" + std::to_string(to.roles.size()) + "]");
  const MapReader task(spec.reading(), node, section("jobs.manifest.spec.tasks"), subject);
  RoleSpec role;
  task.read_text("name", role.name);
  task.read_enum("type", role.type);
  if (role.name.empty() && role.type != TaskType::None) role.name = to_string(role.type);
  task.read_integer("replicas", role.min_replicas, 1, INT32_MAX);
  role.max_replicas = role.min_replicas;
  const TemplateReader reader(spec.reading(), subject);
  const YamlNode* pod_template = task.find("template");
  reader.read(pod_template, role);
  reader.add_volumes(spec, pod_template, role);
  to.roles.push_back(std::move(role));
}

void read_tasks_form(const MapReader& spec, JobSpec& to) {
  to.family = JobFamily::Tasks;
  to.backoff_limit = 3;
  to.recovery = RecoveryScope::Worker;
  to.rescale = to.preemptible ? RescaleMode::Restart : RescaleMode::InPlace;
  spec.read_integer("backoffLimit", to.backoff_limit, 0, INT32_MAX);
  const std::span<const YamlNode> tasks = spec.items("tasks");
  for (const YamlNode& item : tasks) read_task(spec, item, to);
  if (spec.find("tasks")->is_sequence() && tasks.empty())
    spec.fail("tasks", "has no task, at least one is needed; write for example - {type: learner}");
}

void read_spec(const MapReader& spec, JobSpec& to) {
  read_words(spec, to);
  const bool tasks = spec.has("tasks");
  for (std::string_view key : {"minReplicas", "maxReplicas", "engineFields", "template"})
    if (tasks && spec.has(key))
      spec.fail(key, "belongs to the group form, but there are 'tasks'; keep one form");
  for (std::string_view key : {"backoffLimit", "volumes"})
    if (!tasks && spec.has(key))
      spec.fail(key, "belongs to the tasks form, but there are no 'tasks'; add tasks or remove it");
  if (tasks)
    read_tasks_form(spec, to);
  else
    read_group_form(spec, to);
}

void read_metadata(const MapReader& manifest, JobSpec& to) {
  const YamlNode* metadata = manifest.find("metadata");
  const YamlNode* name = at(metadata, {"name"});
  const YamlNode* space = at(metadata, {"namespace"});
  const std::string job = name == nullptr ? "" : name->scalar;
  const std::string in = space == nullptr ? "default" : space->scalar;
  to.name = in + "." + job;
  if (!is_dns_label(job))
    manifest.fail("metadata",
                  "has the name '" + job +
                      "', a DNS label (a-z, 0-9, '-') is needed; write for "
                      "example metadata: {name: train}");
  if (!is_dns_label(in))
    manifest.fail("metadata",
                  "has the namespace '" + in +
                      "', a DNS label (a-z, 0-9, '-') is needed; correct "
                      "it");
}

void need_text(const MapReader& manifest, std::string_view key, std::string_view needed) {
  const YamlNode* node = manifest.find(key);
  if (node == nullptr)
    manifest.missing(key, std::string(key) + ": " + std::string(needed));
  else if (node->scalar != needed)
    manifest.fail(key, found_instead(*node, "'" + std::string(needed) + "'", "correct it"));
}

}  // namespace

void read_manifest(Reading& reading, const YamlNode& node, JobSpec& spec) {
  const YamlNode* name = at(&node, {"metadata", "name"});
  const bool named = name != nullptr && name->is_scalar() && name->scalar.size() <= 128;
  const MapReader manifest(reading,
                           node,
                           section("jobs.manifest"),
                           named ? "job " + name->scalar + ": manifest" : "manifest");
  need_text(manifest, "apiVersion", "diengine.opendilab.org/v2alpha1");
  need_text(manifest, "kind", "DIJob");
  read_metadata(manifest, spec);
  const YamlNode* body = manifest.find("spec");
  if (body == nullptr) {
    manifest.missing("spec", "spec: {tasks: [{type: learner, replicas: 1}]}");
    return;
  }
  const MapReader reader(
      reading, *body, section("jobs.manifest.spec"), manifest.subject_of("spec"));
  read_spec(reader, spec);
}

}  // namespace orrery::scenarios
