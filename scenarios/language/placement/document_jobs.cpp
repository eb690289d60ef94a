// Jobs of a scenario as a placement document: roles that carry a placement, and which roles take
// turns.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/enum_names.hpp"
#include "core/job/job_enums.hpp"
#include "scenarios/language/placement/document_placement.hpp"
#include "scenarios/language/yaml/quantities.hpp"

namespace orrery::scenarios {
namespace {

/// Reads the jobs of one document into its rules.
class JobsReader {
 public:
  JobsReader(DocumentReading& reading, PlacementDocument& document, bool several)
      : reading_(reading), document_(document), several_(several) {}

  void read(const YamlNode& node, std::size_t index) {
    PlacedJob job;
    const YamlNode* name = value_of(node, "name");
    job.name = name != nullptr && name->is_scalar() ? name->scalar : std::to_string(index);
    job.prefix = several_ ? job.name + "/" : "";
    job.index = index;
    job.at = place_of(node);
    read_family(node, job);
    read_backoff_limit(node, job);
    const YamlNode* roles = value_of(node, "roles");
    if (roles == nullptr) read_role("worker", node, job);
    if (roles != nullptr)
      for (const YamlEntry& entry : roles->entries) read_role(entry.key, entry.value, job);
    if (const YamlNode* turns = value_of(node, "take_turns")) read_turns(*turns, job);
    const YamlNode* clusters = value_of(node, "virtual_clusters");
    const bool formed = clusters != nullptr && !clusters->entries.empty();
    if (!job.roles.empty() || formed) document_.jobs.push_back(std::move(job));
  }

 private:
  void read_family(const YamlNode& node, PlacedJob& job) {
    const YamlNode* written = value_of(node, "family");
    if (written == nullptr) return;
    const auto family =
        written->is_scalar() ? enum_from<WorkerFamily>(written->scalar) : std::nullopt;
    if (family) {
      job.family = *family;
      return;
    }
    std::string known;
    for (const std::string_view name : EnumNames<WorkerFamily>::kNames)
      known.append(known.empty() ? "" : ", ").append(name);
    reading_.fail(place_of(*written),
                  {"job " + job.name,
                   "family " + describe(*written),
                   "one of " + known,
                   "choose one, or leave it out for torch's"});
  }

  // What is no number is for the reader of scenarios to tell.
  static void read_backoff_limit(const YamlNode& node, PlacedJob& job) {
    const YamlNode* written = value_of(node, "backoff_limit");
    if (written == nullptr || !written->is_scalar()) return;
    const auto limit = parse_integer(written->scalar);
    if (limit && *limit >= 0 && *limit <= INT32_MAX)
      job.backoff_limit = static_cast<std::int32_t>(*limit);
  }

  void read_role(const std::string& role, const YamlNode& node, PlacedJob& job) {
    const YamlNode* one = value_of(node, "placement");
    const YamlNode* sizes = value_of(node, "placements");
    if (one != nullptr) add(role, "", *one, job);
    if (sizes != nullptr && !sizes->is_map())
      reading_.fail(place_of(*sizes),
                    {subject(role, job),
                     "placements " + describe(*sizes),
                     "a map from a number of processes to their placement",
                     "write for example {2: \"0-1\", 4: \"0-3\"}"});
    if (sizes != nullptr)
      for (const YamlEntry& entry : sizes->entries) add(role, "@" + entry.key, entry.value, job);
  }

  std::string subject(const std::string& role, const PlacedJob& job) const {
    return several_ ? "role " + role + " of job " + job.name : "role " + role;
  }

  void add(const std::string& role,
           const std::string& size,
           const YamlNode& value,
           PlacedJob& job) {
    const std::string component = job.prefix + role + size;
    const YamlNode* text = value.is_map() ? value_of(value, "placement") : &value;
    const placement::TextPosition at = place_of(text == nullptr ? value : *text);
    document_.rules.push_back(read_placement_value(reading_, {component, at}, value));
    job.roles.push_back({role, component, at});
  }

  void read_turns(const YamlNode& list, PlacedJob& job) {
    std::vector<std::string> flat;
    for (const YamlNode& item : list.items) {
      if (item.is_scalar()) flat.push_back(item.scalar);
      if (item.is_sequence()) {
        std::vector<std::string> group;
        for (const YamlNode& role : item.items) group.push_back(role.scalar);
        job.turns.push_back(std::move(group));
      }
    }
    if (!flat.empty()) job.turns.push_back(std::move(flat));
    if (!list.is_sequence())
      reading_.fail(place_of(list),
                    {"job " + job.name,
                     "take_turns " + describe(list),
                     "a list of roles, or of lists of roles",
                     "write for example [[actor, rollout]]"});
  }

  DocumentReading& reading_;
  PlacementDocument& document_;
  bool several_;
};

}  // namespace

void read_placed_jobs(DocumentReading& reading, const YamlNode& jobs, PlacementDocument& document) {
  if (!jobs.is_sequence())
    reading.fail(place_of(jobs),
                 {"jobs", describe(jobs), "a list of jobs", "write - before each name"});
  JobsReader reader(reading, document, jobs.items.size() > 1);
  for (std::size_t i = 0; i < jobs.items.size(); ++i) reader.read(jobs.items[i], i);
  if (document.jobs.size() > 1)
    document.remarks.emplace_back("Each job is placed as if it ran alone.");
}

}  // namespace orrery::scenarios
