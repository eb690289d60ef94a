// What only the whole specification of a job shows, told where it stands.
#include <optional>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

const YamlEntry* entry_of(const MapReader& job, std::string_view key, std::string_view name) {
  if (const YamlNode* node = job.find(key))
    for (const YamlEntry& each : node->entries)
      if (each.key == name) return &each;
  return nullptr;
}

/// What stands behind `kind` in the subject of an error of check_spec; empty where it has none.
std::string_view name_behind(std::string_view subject, std::string_view kind) {
  const std::size_t at = subject.rfind(kind);
  return at == std::string_view::npos ? std::string_view{} : subject.substr(at + kind.size());
}

/// An override that stands in `node` or below it.
// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
std::optional<Origin> override_in(const YamlNode& node) {
  if (node.origin.source > 0) return node.origin;
  for (const YamlEntry& entry : node.entries)
    if (const auto found = override_in(entry.value)) return found;
  for (const YamlNode& item : node.items)
    if (const auto found = override_in(item)) return found;
  return std::nullopt;
}

std::optional<Origin> override_of(const YamlNode& map, std::string_view key) {
  const YamlNode* said = map.find(key);
  return said == nullptr ? std::nullopt : override_in(*said);
}

/// The key that a message of check_spec speaks of; no key where it is of the whole.
std::string_view key_of(std::string_view message) {
  if (message.starts_with("the name ")) return "name";
  if (message.starts_with("a label ") || message.starts_with("label ")) return "labels";
  if (message.starts_with("max_replicas ")) return "replicas";
  return message.substr(0, message.find_first_of(". "));
}

/// The place of what check_spec speaks of: the override that says it, else the line of a role, a
/// virtual cluster, the turns, or the whole job.
Origin origin_of(const MapReader& job, const Error& error) {
  const std::string_view subject = error.subject;
  const std::string_view key = key_of(error.message);
  if (const std::string_view name = name_behind(subject, ": virtual cluster "); !name.empty())
    if (const YamlEntry* found = entry_of(job, "virtual_clusters", name)) return found->key_origin;
  if (const std::string_view name = name_behind(subject, ": role "); !name.empty())
    return origin_in_role(job, name, key);
  const YamlNode* turns = job.find("take_turns");
  if (turns != nullptr && subject.ends_with(": take_turns")) return turns->origin;
  return override_of(job.node(), key).value_or(job.origin());
}

bool is_called(const YamlNode& task, std::string_view name) {
  const YamlNode* said = task.find("name");
  if (said == nullptr || said->scalar.empty()) said = task.find("type");
  return said != nullptr && said->scalar == name;
}

}  // namespace

Origin origin_of_role(const MapReader& job, std::string_view name) {
  if (const YamlEntry* found = entry_of(job, "roles", name)) return found->key_origin;
  const YamlNode* manifest = job.find("manifest");
  const YamlNode* spec = manifest == nullptr ? nullptr : manifest->find("spec");
  const YamlNode* tasks = spec == nullptr ? nullptr : spec->find("tasks");
  if (tasks != nullptr)
    for (const YamlNode& task : tasks->items)
      if (is_called(task, name)) return task.origin;
  return job.origin();
}

Origin origin_in_role(const MapReader& job, std::string_view role, std::string_view key) {
  const YamlEntry* entry = entry_of(job, "roles", role);
  return override_of(entry == nullptr ? job.node() : entry->value, key)
      .value_or(origin_of_role(job, role));
}

void check_job(const MapReader& job, const JobSpec& spec, JobUse use, bool places_sound) {
  if (spec.family == JobFamily::Tasks && use == JobUse::Simulated) return;
  const bool name_judged = spec.family != JobFamily::Native || !job.has("name");
  for (const Error& error : check_spec(spec)) {
    // What failover says was judged key by key; the role that was to use a virtual cluster may be
    // unread, and so may a placement of a role that takes turns.
    const bool unread = error.message.starts_with("no role has workers") ||
                        error.message.find(", which sits wherever it fits") != std::string::npos;
    const bool judged =
        (name_judged && error.subject.starts_with("job '")) ||
        error.message.starts_with("failover.") || (!places_sound && unread) ||
        (spec.family == JobFamily::Tasks && error.message.starts_with("has no role"));
    if (!judged) job.reading().fail(origin_of(job, error), error.subject, error.message);
  }
}

}  // namespace orrery::scenarios
