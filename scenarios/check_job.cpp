// What only the whole specification of a job shows, told where it stands.
#include "scenarios/readers.hpp"

namespace orrery::scenarios {
namespace {

/// The line of what check_spec speaks of: a role, a virtual cluster, the turns, or the whole job.
Origin origin_of(const MapReader& job, std::string_view subject) {
  const auto entry = [&](std::string_view key, std::string_view kind) -> const YamlEntry* {
    const std::size_t at = subject.rfind(kind);
    const YamlNode* node = at == std::string_view::npos ? nullptr : job.find(key);
    if (node == nullptr) return nullptr;
    for (const YamlEntry& each : node->entries)
      if (each.key == subject.substr(at + kind.size())) return &each;
    return nullptr;
  };
  if (const YamlEntry* found = entry("virtual_clusters", ": virtual cluster "))
    return found->key_origin;
  if (const YamlEntry* found = entry("roles", ": role ")) return found->key_origin;
  const YamlNode* turns = job.find("take_turns");
  if (turns != nullptr && subject.ends_with(": take_turns")) return turns->origin;
  return job.origin();
}

}  // namespace

void check_job(const MapReader& job, const ScenarioJob& read, bool places_sound) {
  if (read.spec.family == JobFamily::Tasks) return;
  const bool name_judged = read.spec.family == JobFamily::Group || !job.has("name");
  for (const Error& error : check_spec(read.spec)) {
    // What failover says was judged key by key; who was to use a virtual cluster may be unread.
    const bool judged = (name_judged && error.subject.starts_with("job '")) ||
                        error.message.starts_with("failover.") ||
                        (!places_sound && error.message.starts_with("no role has workers"));
    if (!judged) job.reading().fail(origin_of(job, error.subject), error.subject, error.message);
  }
}

}  // namespace orrery::scenarios
