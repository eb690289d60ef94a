#include "sim/import/batsim_file.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "core/job/spec.hpp"
#include "sim/import/batsim_profiles.hpp"
#include "sim/import/json_tree.hpp"

namespace orrery::sim {
namespace {

constexpr std::int64_t kHostsMax = 1'048'576;

/// `extra_data` is an object, or a string that holds one; other fields belong to other tools.
BatsimExtra read_extra(const JsonReader& job, FileErrors& errors) {
  BatsimExtra extra;
  const JsonNode* node = job.find("extra_data");
  if (node == nullptr) return extra;
  JsonNode inner;
  if (node->is(JsonKind::Text)) {
    Result<JsonNode> parsed = parse_json(node->text, errors.file(), node->line);
    if (!parsed) return extra;
    inner = std::move(*parsed);
    node = &inner;
  }
  if (!node->is(JsonKind::Object)) return extra;
  const JsonReader reader(*node, job.subject() + ": extra_data", errors);
  const auto whole = [&](std::string_view key,
                         std::optional<std::int32_t>& to,
                         std::int64_t low,
                         std::int64_t high) {
    std::int64_t value = 0;
    if (reader.integer(key, value, low, high)) to = static_cast<std::int32_t>(value);
  };
  whole("gpus_per_host", extra.gpus_per_host, 0, 64);
  whole("res_min", extra.res_min, 1, kReplicasMax);
  whole("res_max", extra.res_max, 1, kReplicasMax);
  reader.text("gpu_model", extra.gpu_model);
  return extra;
}

void check_sizes(const JsonReader& reader, const BatsimJob& job) {
  const std::int32_t least = job.extra.res_min.value_or(std::max(1, job.hosts));
  const std::int32_t most = job.extra.res_max.value_or(std::max(1, job.hosts));
  if (least > most || job.hosts < least || job.hosts > most) {
    if (!job.extra.res_min && !job.extra.res_max) return;
    reader.fail("extra_data",
                "lets the job have " + std::to_string(least) + " to " + std::to_string(most) +
                    " hosts, needed a range that holds its res, " + std::to_string(job.hosts) +
                    "; correct res_min or res_max");
  }
}

/// The profiles of a file by name.
class ProfileNames {
 public:
  /// `profiles` have different names and outlive the object.
  explicit ProfileNames(const std::vector<BatsimProfile>& profiles) {
    for (std::size_t i = 0; i < profiles.size(); ++i)
      by_name_.emplace_back(profiles[i].name, static_cast<std::uint32_t>(i));
    std::sort(by_name_.begin(), by_name_.end());
  }

  /// Index of the profile; nothing where there is none of this name.
  std::optional<std::uint32_t> find(std::string_view name) const {
    const auto at = std::lower_bound(
        by_name_.begin(), by_name_.end(), name, [](const auto& entry, std::string_view wanted) {
          return entry.first < wanted;
        });
    if (at == by_name_.end() || at->first != name) return std::nullopt;
    return at->second;
  }

 private:
  std::vector<std::pair<std::string_view, std::uint32_t>> by_name_;
};

/// What is wrong with a name that none of the profiles has.
std::string no_profile(const std::string& name) {
  return "'" + excerpt(name) +
         "', needed the name of one of the profiles; correct it or add the profile";
}

/// Reads the jobs against the profiles that there are.
class JobReader {
 public:
  JobReader(const ProfileNames& profiles, BatsimFile& file, FileErrors& errors)
      : profiles_(profiles), file_(file), errors_(errors) {}

  void read(const JsonNode& node) {
    BatsimJob job;
    job.line = node.line;
    const JsonReader plain(node, "job", errors_);
    if (!node.is(JsonKind::Object)) return;
    if (!read_id(plain, job)) return;
    const JsonReader reader(node, "job " + excerpt(job.id), errors_);
    if (!ids_.insert(job.id).second)
      reader.fail("id", "stands twice, once is needed; give each job an id of its own");
    if (!reader.has("subtime")) reader.missing("subtime", "\"subtime\": 0");
    reader.number("subtime", job.submit_s, 0, kBatsimSecondsMax);
    if (!reader.has("res")) reader.missing("res", "\"res\": 1");
    std::int64_t hosts = 0;
    if (reader.integer("res", hosts, 0, kReplicasMax)) job.hosts = static_cast<std::int32_t>(hosts);
    read_walltime(reader, job);
    job.extra = read_extra(reader, errors_);
    check_sizes(reader, job);
    read_profile(reader, job);
    file_.jobs.push_back(std::move(job));
  }

 private:
  static bool read_id(const JsonReader& reader, BatsimJob& job) {
    const JsonNode* id = reader.find("id");
    if (id == nullptr) {
      reader.missing("id", "\"id\": \"job1\"");
      return false;
    }
    if (!id->is(JsonKind::Text) && !id->is(JsonKind::Number)) {
      reader.fail("id", instead_of(*id, "a string or a number", "correct it"));
      return false;
    }
    if (id->text.empty()) {
      reader.fail("id", "is empty, some text is needed; give the job an id");
      return false;
    }
    job.id = id->text;
    return true;
  }

  // -1 is how older files say that there is none.
  static void read_walltime(const JsonReader& reader, BatsimJob& job) {
    const JsonNode* node = reader.find("walltime");
    if (node == nullptr || (node->is(JsonKind::Number) && node->number == -1)) return;
    double walltime = 0;
    if (!reader.number("walltime", walltime, 0, kBatsimSecondsMax)) return;
    if (walltime > 0)
      job.walltime_s = walltime;
    else
      reader.fail("walltime", "is 0, more than 0 is needed; correct it or leave it out");
  }

  void read_profile(const JsonReader& reader, BatsimJob& job) const {
    if (!reader.has("profile")) return reader.missing("profile", "\"profile\": \"delay10\"");
    std::string name;
    if (!reader.text("profile", name)) return;
    if (const auto at = profiles_.find(name))
      job.profile = *at;
    else
      reader.fail("profile", "is " + no_profile(name));
  }

  const ProfileNames& profiles_;
  BatsimFile& file_;
  FileErrors& errors_;
  std::set<std::string> ids_;
};

void read_profiles(const JsonReader& top, BatsimNames names, BatsimFile& file, FileErrors& errors) {
  const JsonNode* profiles = top.find("profiles");
  if (profiles == nullptr)
    return top.missing("profiles", R"("profiles": {"d": {"type": "DelayProfile", "delay": 10}})");
  const JsonReader all(*profiles, "profiles", errors);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < profiles->keys.size(); ++i) {
    const std::string& name = profiles->keys[i];
    if (!seen.insert(name).second) {
      errors.add(profiles->items[i].line,
                 "profile " + excerpt(name),
                 "stands twice, once is needed; remove one of them");
      continue;
    }
    file.profiles.push_back(
        read_batsim_profile(name, profiles->items[i], names, file.old_names, errors));
  }
}

/// The parts of sequences must be profiles; whether one holds itself is seen when it is played.
void find_parts(const ProfileNames& names, BatsimFile& file, FileErrors& errors) {
  for (BatsimProfile& profile : file.profiles) {
    auto* sequence = std::get_if<BatsimSequence>(&profile.what);
    if (sequence == nullptr) continue;
    for (const std::string& part : sequence->names) {
      if (const auto at = names.find(part))
        sequence->parts.push_back(*at);
      else
        errors.add(profile.line,
                   "profile " + excerpt(profile.name) + ": seq",
                   "names " + no_profile(part));
    }
  }
}

}  // namespace

Result<BatsimFile> parse_batsim(std::string_view text,
                                const std::string& file_name,
                                BatsimNames names) {
  Result<JsonNode> root = parse_json(text, file_name);
  if (!root) return root.errors();
  FileErrors errors(file_name);
  BatsimFile file;
  file.file = file_name;
  const JsonReader top(*root, "workload", errors);
  if (root->is(JsonKind::Object)) {
    if (!top.has("nb_res")) top.missing("nb_res", "\"nb_res\": 32");
    top.integer("nb_res", file.hosts, 1, kHostsMax);
    read_profiles(top, names, file, errors);
    const ProfileNames profiles(file.profiles);
    find_parts(profiles, file, errors);
    if (!top.has("jobs")) top.missing("jobs", "\"jobs\": []");
    JobReader jobs(profiles, file, errors);
    for (const JsonNode& node : top.items("jobs")) jobs.read(node);
  }
  std::sort(file.old_names.begin(), file.old_names.end());
  file.old_names.erase(std::unique(file.old_names.begin(), file.old_names.end()),
                       file.old_names.end());
  if (errors.any()) return errors.take();
  return file;
}

}  // namespace orrery::sim
