#include "scenarios/language/jobs/job_file.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/workers/worker_environment.hpp"
#include "scenarios/language/manifests/pod_template.hpp"
#include "scenarios/language/readers.hpp"
#include "scenarios/language/yaml/overrides.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::string_view kListKeys[]{"jobs"};
const Section kListSection{"jobs", kListKeys};
constexpr std::string_view kKubernetesListKeys[]{"apiVersion", "kind", "metadata", "items"};
const Section kKubernetesList{"list", kKubernetesListKeys};

/// Keys of a scenario's job that nothing but a simulator can follow.
constexpr std::pair<std::string_view, std::string_view> kSimulatorsOnly[]{
    {"work", "a controller runs real programs, which work as long as they do; remove it"},
    {"at", "a job is submitted when it is submitted; remove it"},
    {"ready_after", "a real program is ready when it has started; remove it"},
    {"hello_after", "a real program says hello when it does; remove it"}};

bool is_manifest(const YamlNode& node) {
  return node.find("apiVersion") != nullptr || node.find("kind") != nullptr;
}

bool is_kubernetes_list(const YamlNode& node) {
  const YamlNode* kind = node.find("kind");
  return kind != nullptr && kind->scalar == "List";
}

/// A manifest as an entry of `jobs` that has nothing else.
YamlNode entry_with(YamlNode manifest) {
  YamlNode entry;
  entry.kind = YamlNode::Kind::Map;
  entry.origin = manifest.origin;
  entry.start = manifest.start;
  const Origin origin = manifest.origin;
  const TextStart start = manifest.start;
  entry.entries.push_back({"manifest", origin, std::move(manifest), start});
  return entry;
}

// What a job may hold of one kind: some checks compare all with all, and the sender of a text must
// not choose how long that takes.
constexpr std::size_t kKeysMax = 1024;
constexpr std::size_t kPartsMax = 4096;

/// Whether something stands in a text in such numbers; it is told then. `may_be_long`: the list of
/// jobs itself.
// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
bool is_too_large(Reading& reading, const YamlNode& node, bool may_be_long) {
  if (node.entries.size() > kKeysMax) {
    reading.fail(node.origin,
                 "map",
                 "has " + std::to_string(node.entries.size()) + " keys, at most " +
                     std::to_string(kKeysMax) + " are read; split it");
    return true;
  }
  const bool has_parts =
      !node.items.empty() && (node.items.front().is_map() || node.items.front().is_sequence());
  if (has_parts && !may_be_long && node.items.size() > kPartsMax) {
    reading.fail(node.origin,
                 "list",
                 "has " + std::to_string(node.items.size()) + " items, at most " +
                     std::to_string(kPartsMax) + " are read; split it");
    return true;
  }
  bool found = false;
  for (const YamlNode& item : node.items) found = is_too_large(reading, item, false) || found;
  for (const YamlEntry& entry : node.entries)
    found = is_too_large(reading, entry.value, false) || found;
  return found;
}

bool is_too_large(Reading& reading, const YamlNode& document) {
  if (document.entries.size() > kKeysMax) return is_too_large(reading, document, false);
  bool found = false;
  for (const YamlEntry& entry : document.entries)
    found =
        is_too_large(reading, entry.value, entry.key == "jobs" || entry.key == "items") || found;
  return found;
}

/// A program gets its words as C strings, and its variables as NAME=VALUE.
void judge_words(Reading& reading, const MapReader& job, const JobSpec& spec) {
  const auto has_zero = [](const std::string& text) {
    return text.find('\0') != std::string::npos;
  };
  const bool native = !job.has("manifest");  // Those of a manifest were judged where they stand.
  for (const RoleSpec& role : spec.roles) {
    const auto fail = [&](std::string_view key, const std::string& message) {
      reading.fail(origin_in_role(job, role.name, key), spec.name + ": role " + role.name, message);
    };
    if (std::any_of(role.command.begin(), role.command.end(), has_zero) ||
        std::any_of(role.volumes.begin(), role.volumes.end(), has_zero))
      fail(std::any_of(role.volumes.begin(), role.volumes.end(), has_zero) ? "volumes" : "command",
           "a word of its command or volumes holds a zero byte, which ends it for every program; "
           "remove it");
    for (const KeyValue& variable : role.environment) {
      if (variable.key.empty() || (native && variable.key.find('=') != std::string::npos) ||
          has_zero(variable.key))
        fail("env",
             "a variable is called '" + variable.key.substr(0, 80) +
                 "', a name without '=' and zero bytes is needed; write NAME: value");
      else if (has_zero(variable.value))
        fail("env",
             "variable " + variable.key.substr(0, 80) +
                 " holds a zero byte, which ends it for every program; remove it");
    }
  }
}

class JobFileReader {
 public:
  JobFileReader(Reading& reading, std::optional<std::span<const NodeGroup>> groups)
      : reading_(reading), ground_(groups) {}

  bool needs_cluster() const { return ground_.has_unjudged(); }

  void read_document(YamlNode node) {
    if (node.is_null()) return;
    if (node.is_map() && is_kubernetes_list(node)) {
      const MapReader list(reading_, node, kKubernetesList, "list");
      return read_items(list, "items", node);
    }
    if (node.find("jobs") == nullptr) return read_entry(std::move(node));
    const MapReader list(reading_, node, kListSection, "");
    read_items(list, "jobs", node);
  }

  std::vector<JobSpec> take() {
    if (entries_ == 0)
      reading_.fail({0, 1},
                    "jobs",
                    "there is no job, at least one is needed; write for example name: train and "
                    "command: [python3, train.py]");
    return std::move(jobs_);
  }

 private:
  void read_items(const MapReader& list, std::string_view key, YamlNode& node) {
    if (list.items(key).empty()) {
      if (!list.has(key) || list.find(key)->is_sequence())
        list.fail(key, "has no job, at least one is needed; add one behind a '-'");
      ++entries_;
      return;
    }
    for (YamlNode& item : node.find(key)->items) read_entry(std::move(item));
  }

  void read_entry(YamlNode node) {
    const std::size_t index = entries_++;
    if (node.is_map() && is_manifest(node)) node = entry_with(std::move(node));
    const MapReader job(reading_, node, section("jobs"), job_subject(node, index));
    if (!node.is_map()) {
      if (node.is_null())
        reading_.fail(node.origin, job.subject(), "is empty, a job is needed; write its name");
      return;
    }
    refuse_simulated(job);
    JobSpec spec;
    const bool places_sound = read_job_spec(job, JobUse::Run, ground_, spec);
    read_estimate(job, spec);
    if (ground_.is_known() && ground_.groups().empty()) refuse_placements(job, node);
    need_commands(job, spec);
    if (spec.roles.size() <= kRolesMax) {
      judge_words(reading_, job, spec);
      warn_of_overruled(job, spec);
    }
    check_job(job, spec, JobUse::Run, places_sound);
    need_own_name(job, spec.name);
    jobs_.push_back(std::move(spec));
  }

  static void refuse_simulated(const MapReader& job) {
    for (const auto& [key, words] : kSimulatorsOnly)
      if (job.has(key)) job.fail(key, "is for simulators: " + std::string(words));
    // The short form of a job may be a worker group itself, and says so in a map.
    const YamlNode* workers = job.find("workers");
    if (workers != nullptr && (!workers->is_map() || job.has("roles") || job.has("manifest")))
      job.fail("workers",
               "is for simulators: what a real worker does, its program says; remove it");
  }

  static void read_estimate(const MapReader& job, JobSpec& spec) {
    const YamlNode* node = job.find("estimate");
    if (node == nullptr) return;
    if (node->is_scalar() && node->scalar == "oracle") {
      job.fail("estimate",
               "is oracle, but the running time of a real program is not known; write a time");
      return;
    }
    job.read_duration("estimate", spec.estimate);
    spec.estimate_source = EstimateSource::Declared;
  }

  static void refuse_placements(const MapReader& job, const YamlNode& node) {
    const auto refuse = [&](const YamlNode& role, const std::string& subject) {
      for (const std::string key : {"placement", "placements"})
        if (role.find(key) != nullptr)
          job.reading().fail(role.origin_of(key),
                             subject + key,
                             "names devices of nodes, and none has joined the cluster yet; submit "
                             "it once orrery get nodes shows them");
    };
    refuse(node, job.subject() + ": ");
    if (const YamlNode* roles = job.find("roles"))
      for (const YamlEntry& role : roles->entries)
        refuse(role.value, job.subject_of("roles." + role.key) + ".");
  }

  static void need_commands(const MapReader& job, const JobSpec& spec) {
    for (const RoleSpec& role : spec.roles) {
      if (!role.command.empty()) continue;
      std::string remedy = "write command: [python3, train.py]";
      if (job.has("manifest")) remedy = "write command: in its container";
      Origin origin = origin_of_role(job, role.name);
      if (!role.master_of.is_none()) {
        remedy = "write sub_master: {command: [python3, lead.py]}";
        origin = origin_of_role(job, spec.roles[role.master_of.index()].name);
      }
      job.reading().fail(
          origin,
          spec.name + ": role " + (role.name.empty() ? "?" : role.name),
          "has no command, one is needed, for a controller runs real programs; " + remedy);
    }
  }

  /// A variable that is computed for every worker, whatever its role says.
  static void warn_of_overruled(const MapReader& job, const JobSpec& spec) {
    const auto warn = [&](const RoleSpec& role, const char* where, const auto& environment) {
      for (const std::string& name :
           workers::computed_names_in(environment, spec.worker_family, DeviceVendor::Nvidia))
        job.reading().warn(
            origin_of_role(job, role.name),
            spec.name + ": role " + role.name,
            where + name + ", which identifies a worker and is computed; leave it out");
    };
    for (const RoleSpec& role : spec.roles) {
      warn(role, "env sets ", role.environment);
      for (const NodeProgram& program : role.process->on_nodes)
        warn(role, "env of on_nodes sets ", program.environment);
    }
  }

  void need_own_name(const MapReader& job, const std::string& name) {
    if (name.ends_with('.')) return;  // Reported as missing.
    const auto [earlier, is_new] = names_.emplace(name, job.origin());
    if (!is_new)
      reading_.fail(job.origin(),
                    "job " + name,
                    "has the name of the job at " + reading_.place(earlier->second) +
                        ", names are unique; rename one");
  }

  Reading& reading_;
  PlacementGround ground_;
  std::size_t entries_ = 0;
  std::map<std::string, Origin> names_;
  std::vector<JobSpec> jobs_;
};

/// Applies the overrides to the only document; appends their places. Returns what is wrong.
Errors apply_overrides(const std::vector<Override>& overrides,
                       std::vector<YamlNode>& documents,
                       std::vector<std::string>& places) {
  Errors errors;
  for (const Override& override : overrides) {
    places.push_back(override_place(override));
    if (documents.size() == 1) {
      const auto source = static_cast<std::uint32_t>(places.size() - 1);
      for (Error& error : apply_override(documents.front(), override, source))
        errors.push_back(std::move(error));
    } else {
      errors.push_back({ErrorCode::InvalidInput,
                        places.back(),
                        0,
                        override.path,
                        "is set in a file of " + std::to_string(documents.size()) +
                            " documents, one is needed; put the jobs under jobs: and write for "
                            "example jobs[0].priority"});
    }
  }
  return errors;
}

}  // namespace

Result<JobFile> parse_job_file(std::string_view text,
                               const std::string& file,
                               const JobFileOptions& options) {
  Result<std::vector<YamlNode>> documents = parse_yaml_documents(text, file);
  if (!documents) return documents.errors();
  std::vector<std::string> places{file};
  Errors errors = apply_overrides(options.overrides, *documents, places);
  Reading reading(std::move(places));
  reading.set_priority_classes(options.priority_classes);
  if (options.other_priority_classes) reading.take_other_priority_classes();
  bool too_large = false;
  for (const YamlNode& document : *documents)
    too_large = is_too_large(reading, document) || too_large;
  if (too_large) return reading.take_errors();
  hand_out_config_maps(reading, *documents);
  JobFileReader reader(reading, options.groups);
  for (YamlNode& document : *documents) reader.read_document(std::move(document));
  JobFile read{reader.take(),
               reading.take_warnings(),
               reader.needs_cluster(),
               reading.has_other_priority_class()};
  Errors all = reading.take_errors();
  all.insert(all.end(), errors.begin(), errors.end());
  if (!all.empty()) return all;
  return read;
}

FileKind kind_of_file(std::string_view text) {
  const auto documents = parse_yaml_documents(text, "");
  if (!documents || documents->size() > 1) return FileKind::Jobs;
  if (documents->empty() || !documents->front().is_map()) return FileKind::Scenario;
  const YamlNode& top = documents->front();
  if (is_manifest(top)) return FileKind::Jobs;
  const auto has = [](std::string_view name, const std::string& key) {
    const auto keys = section(name).keys;
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  const bool is_scenario =
      std::any_of(top.entries.begin(), top.entries.end(), [&](const YamlEntry& entry) {
        return entry.key != "jobs" && has("scenario", entry.key) && !has("jobs", entry.key);
      });
  const bool is_jobs =
      std::any_of(top.entries.begin(), top.entries.end(), [&](const YamlEntry& entry) {
        return entry.key == "jobs" || has("jobs", entry.key);
      });
  return is_jobs && !is_scenario ? FileKind::Jobs : FileKind::Scenario;
}

}  // namespace orrery::scenarios
