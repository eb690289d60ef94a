// What of a pod template no job here has: told field by field, from the tables of pod_fields.hpp.
#include <algorithm>
#include <set>

#include "core/job/check_program.hpp"
#include "scenarios/language/manifests/pod_fields.hpp"
#include "scenarios/language/manifests/pod_template.hpp"

namespace orrery::scenarios {
namespace {

/// Nothing is said: templates are often written with empty maps and lists.
bool is_empty(const YamlNode& node) {
  return node.is_null() || (node.is_map() && node.entries.empty()) ||
         (node.is_sequence() && node.items.empty());
}

std::vector<std::string_view> names_of(const FieldTable& table) {
  std::vector<std::string_view> names;
  for (const FieldRule& rule : table.rules)
    if (rule.name.find('*') == std::string_view::npos) names.push_back(rule.name);
  return names;
}

class PodJudge {
 public:
  PodJudge(Reading& reading, const YamlNode* job_volumes)
      : reading_(reading), job_volumes_(job_volumes) {}

  void judge_template(const YamlNode& node, const std::string& subject) {
    judge(node, "template", subject);
    if (const YamlNode* metadata = value_at(&node, {"metadata"}))
      judge(*metadata, "template metadata", subject + ".metadata");
    if (const YamlNode* pod = value_at(&node, {"spec"})) judge_pod(*pod, subject + ".spec");
  }

  /// Reports each key of a map that its table does not map.
  void judge(const YamlNode& node, std::string_view object, const std::string& subject) {
    if (!node.is_map()) {
      reading_.fail(
          node.origin, subject, found_instead(node, "a map", "write key: value lines under it"));
      return;
    }
    const FieldTable& table = pod_field_table(object);
    std::set<std::string_view> seen;
    for (const YamlEntry& entry : node.entries) {
      const std::string place = subject + "." + entry.key;
      if (!seen.insert(entry.key).second) {
        reading_.fail(entry.key_origin,
                      place,
                      "stands twice, each key stands once in a map; remove one of them");
        continue;
      }
      const FieldRule* rule = table.find(entry.key);
      if (rule == nullptr)
        report_unknown(entry, table, place);
      else if (!is_empty(entry.value))
        report(entry, *rule, place);
    }
  }

  void judge_volumes(const YamlNode* list,
                     const std::string& subject,
                     std::set<std::string_view>& names) {
    std::size_t index = 0;
    for (const YamlNode& item : items(list, subject)) {
      const std::string place = subject + "[" + std::to_string(index++) + "]";
      judge(item, "volume", place);
      if (!item.is_map()) continue;
      const YamlNode* name = need_name(item, place);
      if (name != nullptr && !is_dns_label(name->scalar))
        reading_.fail(name->origin,
                      place + ".name",
                      found_instead(*name, "a DNS label (a-z, 0-9, '-')", "rename it"));
      else if (name != nullptr && !names.insert(name->scalar).second)
        reading_.fail(name->origin,
                      place + ".name",
                      "is '" + name->scalar + "' as an earlier one, names are unique; rename one");
      if (const YamlNode* host = value_at(&item, {"hostPath"})) {
        judge(*host, "hostPath", place + ".hostPath");
        if (host->is_map()) need_path(*host, "path", place + ".hostPath");
      }
      if (const YamlNode* map = value_at(&item, {"configMap"}))
        judge_config_map(*map, place + ".configMap");
      if (const YamlNode* empty = value_at(&item, {"emptyDir"}))
        judge_empty_folder(*empty, place + ".emptyDir");
    }
  }

 private:
  void report_unknown(const YamlEntry& entry, const FieldTable& table, const std::string& place) {
    const std::string_view near = nearest(entry.key, names_of(table));
    reading_.fail(entry.key_origin,
                  place,
                  "is no field that Kubernetes knows here; " +
                      (near.empty() ? std::string("remove it")
                                    : "did you mean '" + std::string(near) + "'?"));
  }

  void report(const YamlEntry& entry, const FieldRule& rule, const std::string& place) {
    if (rule.treatment == FieldTreatment::Ignored)
      reading_.warn(entry.key_origin, place, "is ignored: " + std::string(rule.words));
    if (rule.treatment == FieldTreatment::Refused)
      reading_.fail(entry.key_origin,
                    place,
                    "is nothing that is done here, and the program would not run as it says; " +
                        std::string(rule.words));
  }

  void judge_empty_folder(const YamlNode& node, const std::string& subject) {
    judge(node, "emptyDir", subject);
    const YamlNode* medium = value_at(&node, {"medium"});
    if (medium != nullptr && medium->scalar != "" && medium->scalar != "Memory")
      reading_.fail(
          medium->origin, subject + ".medium", found_instead(*medium, "'Memory'", "or remove it"));
  }

  void judge_config_map(const YamlNode& node, const std::string& subject) {
    YamlNode written = node;
    std::erase_if(written.entries, [](const YamlEntry& entry) { return entry.key == kDocument; });
    judge(written, "configMap", subject);
    if (!node.is_map()) return;
    std::size_t index = 0;
    for (const YamlNode& item : items(value_at(&node, {"items"}), subject + ".items"))
      judge(item, "configMap item", subject + ".items[" + std::to_string(index++) + "]");
  }

  void judge_pod(const YamlNode& pod, const std::string& subject) {
    judge(pod, "pod", subject);
    note_restarts(value_at(&pod, {"restartPolicy"}), subject + ".restartPolicy");
    const YamlNode* os = value_at(&pod, {"os", "name"});
    if (os != nullptr && os->scalar != "linux")
      reading_.fail(os->origin,
                    subject + ".os.name",
                    found_instead(*os, "'linux'", "submit it where such programs run"));
    const YamlNode* volumes = value_at(&pod, {"volumes"});
    std::set<std::string_view> names;
    judge_volumes(volumes, subject + ".volumes", names);
    // Those of the job are judged once, not with every template; here their names count.
    for (const YamlNode& volume : items(job_volumes_, ""))
      if (const YamlNode* name = value_at(&volume, {"name"})) names.insert(name->scalar);
    judge_containers(pod, subject, names);
  }

  void judge_containers(const YamlNode& pod,
                        const std::string& subject,
                        const std::set<std::string_view>& volumes) {
    const YamlNode* list = value_at(&pod, {"containers"});
    // "has no container" is reported by the reader of the template.
    if (list == nullptr || list->items.empty()) return;
    std::size_t worker = 0;
    for (std::size_t i = list->items.size(); i-- > 0;) {
      const YamlNode* name = value_at(&list->items[i], {"name"});
      if (name != nullptr && name->scalar == "di-container") worker = i;
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const std::string place = subject + ".containers[" + std::to_string(i) + "]";
      if (i == worker)
        judge_container(list->items[i], place, volumes);
      else
        reading_.fail(list->items[i].origin,
                      place,
                      "stands beside the worker's container, and a worker is one program; make it "
                      "a task of its own, or remove it");
    }
  }

  void judge_container(const YamlNode& container,
                       const std::string& subject,
                       const std::set<std::string_view>& volumes) {
    judge(container, "container", subject);
    note_restarts(value_at(&container, {"restartPolicy"}), subject + ".restartPolicy");
    for (const char* key : {"image", "workingDir"})
      need_text(value_at(&container, {key}), subject + "." + key);
    for (const char* key : {"command", "args"})
      if (const YamlNode* list = value_at(&container, {key}))
        for (const YamlNode& item : list->items) need_text(&item, subject + "." + key);
    judge_environment(value_at(&container, {"env"}), subject + ".env");
    if (const YamlNode* resources = value_at(&container, {"resources"})) {
      judge(*resources, "resources", subject + ".resources");
      for (const char* key : {"requests", "limits"})
        if (const YamlNode* amounts = value_at(resources, {key}))
          judge(*amounts, "quantities", subject + ".resources." + key);
    }
    judge_mounts(value_at(&container, {"volumeMounts"}), subject + ".volumeMounts", volumes);
  }

  void judge_environment(const YamlNode* list, const std::string& subject) {
    std::size_t index = 0;
    for (const YamlNode& item : items(list, subject)) {
      const std::string place = subject + "[" + std::to_string(index++) + "]";
      judge(item, "env", place);
      if (!item.is_map()) continue;
      const YamlNode* name = need_name(item, place);
      if (name != nullptr && name->scalar.find('=') != std::string::npos)
        reading_.fail(name->origin,
                      place + ".name",
                      found_instead(*name, "a name without '='", "correct it"));
      need_text(value_at(&item, {"value"}), place + ".value");
    }
  }

  void judge_mounts(const YamlNode* list,
                    const std::string& subject,
                    const std::set<std::string_view>& volumes) {
    std::size_t index = 0;
    for (const YamlNode& item : items(list, subject)) {
      const std::string place = subject + "[" + std::to_string(index++) + "]";
      judge(item, "volumeMount", place);
      if (!item.is_map()) continue;
      const YamlNode* name = need_name(item, place);
      if (name != nullptr && !volumes.contains(name->scalar))
        reading_.fail(name->origin,
                      place + ".name",
                      found_instead(*name, "one of the volumes", "add the volume or correct it"));
      need_path(item, "mountPath", place);
    }
  }

  std::span<const YamlNode> items(const YamlNode* list, const std::string& subject) {
    if (list == nullptr) return {};
    if (!list->is_sequence() && !subject.empty())
      reading_.fail(
          list->origin, subject, found_instead(*list, "a list", "write each entry behind a '-'"));
    return list->items;
  }

  void need_text(const YamlNode* node, const std::string& subject) {
    if (node != nullptr && !node->is_scalar())
      reading_.fail(node->origin, subject, found_instead(*node, "a text", "write it on one line"));
  }

  const YamlNode* need_name(const YamlNode& item, const std::string& subject) {
    const YamlNode* name = value_at(&item, {"name"});
    if (name != nullptr && name->is_scalar() && !name->scalar.empty()) return name;
    reading_.fail(item.origin_of("name"),
                  subject + ".name",
                  "is missing or no text, it is needed; write for example name: data");
    return nullptr;
  }

  void need_path(const YamlNode& item, std::string_view key, const std::string& subject) {
    const YamlNode* path = value_at(&item, {key});
    if (path != nullptr && path->is_scalar() && path->scalar.starts_with('/') &&
        path->scalar.find(':') == std::string::npos && is_contained_path(path->scalar))
      return;
    reading_.fail(item.origin_of(key),
                  subject + "." + std::string(key),
                  found_instead(path == nullptr ? YamlNode{} : *path,
                                "a path from '/' on without '..' and ':'",
                                "write for example " + std::string(key) + ": /data"));
  }

  // DI-orchestrator makes Never of each of them.
  void note_restarts(const YamlNode* policy, const std::string& subject) {
    if (policy == nullptr || policy->scalar == "Never") return;
    if (policy->scalar == "Always" || policy->scalar == "OnFailure")
      reading_.warn(policy->origin,
                    subject,
                    "is " + policy->scalar +
                        " and taken for Never: the job's backoffLimit decides about restarts");
    else
      reading_.fail(policy->origin,
                    subject,
                    found_instead(*policy,
                                  "one of Always, OnFailure, Never",
                                  "the job's backoffLimit decides; remove it"));
  }

  Reading& reading_;
  const YamlNode* job_volumes_;
};

}  // namespace

void judge_pod_template(Reading& reading,
                        const YamlNode& pod_template,
                        const YamlNode* volumes,
                        const std::string& subject) {
  PodJudge(reading, volumes).judge_template(pod_template, subject + ".template");
}

void judge_volumes(Reading& reading, const YamlNode& volumes, const std::string& subject) {
  std::set<std::string_view> names;
  PodJudge(reading, nullptr).judge_volumes(&volumes, subject, names);
}

void judge_object(Reading& reading,
                  const YamlNode& node,
                  std::string_view object,
                  const std::string& subject) {
  PodJudge(reading, nullptr).judge(node, object, subject);
}

}  // namespace orrery::scenarios
