// What `orrery place --search` may try of a loop: jobs.work.loop.search.
#include <algorithm>

#include "scenarios/language/readers.hpp"
#include "scenarios/language/yaml/quantities.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kSearchCountMax = 100'000;
constexpr std::int64_t kSearchedReplicasMax = 1'048'576;

bool has_role(const JobSpec& spec, const std::string& name) {
  return std::any_of(spec.roles.begin(), spec.roles.end(), [&](const RoleSpec& role) {
    return role.name == name;
  });
}

std::string roles_of(const JobSpec& spec) {
  std::string names;
  for (const RoleSpec& role : spec.roles) names += (names.empty() ? "" : ", ") + role.name;
  return names;
}

void read_micro_batches(const MapReader& reader, std::vector<std::int32_t>& to) {
  for (const YamlNode& item : reader.items("micro_batches")) {
    const auto count = item.is_scalar() ? parse_integer(item.scalar) : std::nullopt;
    if (count && *count >= 1 && *count <= kSearchCountMax)
      to.push_back(static_cast<std::int32_t>(*count));
    else
      reader.fail("micro_batches",
                  found_instead(item, "a whole number from 1", "write for example [1, 2, 4]"));
  }
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

void read_apart(const MapReader& reader, const JobSpec& spec, SearchSpec& search) {
  for (const YamlNode& item : reader.items("apart")) {
    std::vector<std::string> roles;
    for (const YamlNode& role : item.items) roles.push_back(role.scalar);
    const auto unknown = std::find_if_not(
        roles.begin(), roles.end(), [&](const std::string& role) { return has_role(spec, role); });
    if (unknown != roles.end() && !unknown->empty())
      reader.fail("apart",
                  "names '" + *unknown + "', which is no role of the job; name two or more of " +
                      roles_of(spec));
    else if (unknown == roles.end() && roles.size() >= 2)
      search.apart.push_back(std::move(roles));
    else
      reader.fail("apart",
                  found_instead(item,
                                "a list of two or more roles of the job (" + roles_of(spec) + ")",
                                "write for example [[actor, rollout]]"));
  }
}

/// "3" or "1-4".
std::optional<SearchedReplicas> replicas_in(const YamlNode& node) {
  if (!node.is_scalar()) return std::nullopt;
  const std::size_t dash = node.scalar.find('-');
  const auto low = parse_integer(node.scalar.substr(0, dash));
  const auto high = dash == std::string::npos ? low : parse_integer(node.scalar.substr(dash + 1));
  if (!low || !high || *low < 1 || *low > *high || *high > kSearchedReplicasMax)
    return std::nullopt;
  return SearchedReplicas{{}, static_cast<std::int32_t>(*low), static_cast<std::int32_t>(*high)};
}

void read_searched_replicas(const MapReader& reader, const JobSpec& spec, SearchSpec& search) {
  const YamlNode* node = reader.find("replicas");
  if (node == nullptr) return;
  if (!node->is_map())
    return reader.fail("replicas",
                       found_instead(*node,
                                     "a map from roles to their numbers of replicas",
                                     "write for example {rollout: 1-4}"));
  for (const YamlEntry& entry : node->entries) {
    auto replicas = replicas_in(entry.value);
    if (!has_role(spec, entry.key)) {
      reader.fail(
          "replicas",
          "names '" + entry.key + "', which is no role of the job; name one of " + roles_of(spec));
    } else if (!replicas) {
      reader.fail("replicas",
                  "of " + entry.key + " " +
                      found_instead(entry.value,
                                    "a number from 1, or a range of them",
                                    "write for example {" + entry.key + ": 1-4}"));
    } else {
      replicas->role = entry.key;
      search.replicas.push_back(*std::move(replicas));
    }
  }
}

}  // namespace

void read_search(const MapReader& loop_reader, const JobSpec& spec, LoopSpec& loop) {
  const YamlNode* node = loop_reader.find("search");
  if (node == nullptr) return;
  const MapReader reader(loop_reader.reading(),
                         *node,
                         section("jobs.work.loop.search"),
                         loop_reader.subject_of("search"));
  if (!node->is_map()) return;
  SearchSpec search;
  search.group = loop.stream ? loop.stream->group : 1;
  reader.read_duration("switch", search.switch_time);
  reader.read_duration("handover", search.handover);
  reader.read_integer("group", search.group, 1, kSearchCountMax);
  reader.read_integer("devices", search.devices, 1, INT32_MAX);
  read_micro_batches(reader, search.micro_batches);
  read_apart(reader, spec, search);
  read_searched_replicas(reader, spec, search);
  if (loop.sequences > 0 && loop.sequences % search.group != 0)
    reader.fail("group",
                "is " + std::to_string(search.group) + ", which does not divide the " +
                    std::to_string(loop.sequences) + " sequences of a turn; change one of them");
  loop.search = std::move(search);
}

}  // namespace orrery::scenarios
