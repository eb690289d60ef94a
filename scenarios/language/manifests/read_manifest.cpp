// DI-orchestrator's DIJob, both forms of diengine.opendilab.org/v2alpha1.
#include <algorithm>
#include <utility>

#include "core/cluster/port_ledger.hpp"
#include "scenarios/language/manifests/pod_template.hpp"

namespace orrery::scenarios {
namespace {

void read_words(const MapReader& spec, JobSpec& to) {
  spec.read_text("group", to.group.edit());
  to.group.tidy();
  spec.read_bool("preemptible", to.preemptible);
  spec.read_enum("cleanPodPolicy", to.clean_pods);
  read_priority_class(spec, to.priority);
}

void read_group_form(const MapReader& spec, JobUse use, JobSpec& to) {
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
  PodReader(spec.reading(), use, to).read(spec.find("template"), nullptr, spec.subject(), role);
  to.roles.push_back(std::move(role));
}

void read_task(const MapReader& spec, const YamlNode& node, PodReader& pods, JobSpec& to) {
  const std::string subject = spec.subject_of("tasks[" + std::to_string(to.roles.size()) + "]");
  const MapReader task(spec.reading(), node, section("jobs.manifest.spec.tasks"), subject);
  RoleSpec role;
  task.read_text("name", role.name);
  task.read_enum("type", role.type);
  if (role.name.empty() && role.type != TaskType::None) role.name = to_string(role.type);
  task.read_integer("replicas", role.min_replicas, 1, INT32_MAX);
  role.max_replicas = role.min_replicas;
  pods.read(task.find("template"), spec.find("volumes"), subject, role);
  to.roles.push_back(std::move(role));
}

void read_tasks_form(const MapReader& spec, JobUse use, JobSpec& to) {
  to.family = JobFamily::Tasks;
  to.backoff_limit = 3;
  to.recovery = RecoveryScope::Worker;
  to.rescale = to.preemptible ? RescaleMode::Restart : RescaleMode::InPlace;
  spec.read_integer("backoffLimit", to.backoff_limit, 0, INT32_MAX);
  const std::span<const YamlNode> tasks = spec.items("tasks");
  PodReader pods(spec.reading(), use, to);
  const YamlNode* volumes = spec.find("volumes");
  if (use == JobUse::Run && volumes != nullptr)
    judge_volumes(spec.reading(), *volumes, spec.subject_of("volumes"));
  for (const YamlNode& item : tasks)
    if (to.roles.size() <= kRolesMax) read_task(spec, item, pods, to);  // Else check_spec tells.
  if (spec.find("tasks")->is_sequence() && tasks.empty())
    spec.fail("tasks", "has no task, at least one is needed; write for example - {type: learner}");
}

void read_spec(const MapReader& spec, JobUse use, JobSpec& to) {
  read_words(spec, to);
  const bool tasks = spec.has("tasks");
  for (std::string_view key : {"minReplicas", "maxReplicas", "engineFields", "template"})
    if (tasks && spec.has(key))
      spec.fail(key, "belongs to the group form, but there are 'tasks'; keep one form");
  for (std::string_view key : {"backoffLimit", "volumes"})
    if (!tasks && spec.has(key))
      spec.fail(key, "belongs to the tasks form, but there are no 'tasks'; add tasks or remove it");
  if (tasks)
    read_tasks_form(spec, use, to);
  else
    read_group_form(spec, use, to);
}

void read_metadata(const MapReader& manifest, JobUse use, JobSpec& to) {
  const YamlNode* metadata = manifest.find("metadata");
  const YamlNode* name = value_at(metadata, {"name"});
  const YamlNode* space = value_at(metadata, {"namespace"});
  if (use == JobUse::Run && metadata != nullptr)
    judge_object(
        manifest.reading(), *metadata, "manifest metadata", manifest.subject_of("metadata"));
  if (const YamlNode* labels = value_at(metadata, {"labels"}))
    for (const YamlEntry& label : labels->entries)
      if (label.value.is_scalar() || label.value.is_null())
        to.labels.push_back({label.key, label.value.scalar});
  const std::string job = name == nullptr ? "" : name->scalar;
  const std::string in = space == nullptr ? "default" : space->scalar;
  to.name = in + "." + job;
  const auto fail = [&](const YamlNode* at, const std::string& message) {
    if (at == nullptr) at = metadata;
    manifest.reading().fail(
        at == nullptr ? manifest.origin() : at->origin, manifest.subject_of("metadata"), message);
  };
  if (!is_dns_label(job))
    fail(name,
         "has the name '" + job +
             "', a DNS label (a-z, 0-9, '-') is needed; write for example metadata: {name: train}");
  if (!is_dns_label(in))
    fail(space,
         "has the namespace '" + in + "', a DNS label (a-z, 0-9, '-') is needed; correct it");
}

/// Whether it is a DIJob of the version that is read, or may be meant as one. Of any other document
/// this one thing is told: what its fields are says nothing.
bool is_dijob(Reading& reading, const YamlNode& node, const std::string& subject) {
  const auto is_other = [&](std::string_view key, std::string_view needed, std::string remedy) {
    const YamlNode* value = node.find(key);
    if (value == nullptr || value->scalar == needed) return false;
    reading.fail(value->origin,
                 subject + "." + std::string(key),
                 found_instead(*value, "'" + std::string(needed) + "'", remedy));
    return true;
  };
  const YamlNode* version = node.find("apiVersion");
  const bool older = version != nullptr && version->scalar == "diengine.opendilab.org/v1alpha1";
  return !is_other(
             "kind", "DIJob", "only DIJobs, and ConfigMaps that they mount, are read; remove it") &&
         !is_other("apiVersion",
                   "diengine.opendilab.org/v2alpha1",
                   older ? "write its coordinator, collector and learner as spec.tasks of that "
                           "version, each with name, replicas and template"
                         : "correct it");
}

}  // namespace

void read_manifest(Reading& reading, const YamlNode& node, JobUse use, JobSpec& spec) {
  const YamlNode* name = value_at(&node, {"metadata", "name"});
  const bool named = name != nullptr && name->is_scalar() && name->scalar.size() <= 128;
  const std::string subject = named ? "job " + name->scalar + ": manifest" : "manifest";
  if (!is_dijob(reading, node, subject)) {
    spec.family = JobFamily::Tasks;  // Judged no further.
    spec.name = full_job_name(named ? name->scalar : "");
    return;
  }
  const MapReader manifest(reading, node, section("jobs.manifest"), subject);
  if (!manifest.has("apiVersion"))
    manifest.missing("apiVersion", "apiVersion: diengine.opendilab.org/v2alpha1");
  if (!manifest.has("kind")) manifest.missing("kind", "kind: DIJob");
  read_metadata(manifest, use, spec);
  const YamlNode* body = manifest.find("spec");
  if (body == nullptr) {
    manifest.missing("spec", "spec: {tasks: [{type: learner, replicas: 1}]}");
    return;
  }
  const MapReader reader(
      reading, *body, section("jobs.manifest.spec"), manifest.subject_of("spec"));
  read_spec(reader, use, spec);
}

}  // namespace orrery::scenarios
