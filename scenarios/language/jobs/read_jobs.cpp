#include <algorithm>
#include <utility>

#include "core/discovery/port_demand.hpp"
#include "scenarios/language/jobs/job_places.hpp"
#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr Bytes kDefaultMemory{std::int64_t{2} << 30};
constexpr MilliCpu kDefaultCpu{1000};

/// Keys of a job that only its short form with one role has.
constexpr std::string_view kShortFormKeys[]{"replicas",
                                            "type",
                                            "completion",
                                            "devices",
                                            "gpus",
                                            "gpu",
                                            "cpu",
                                            "memory",
                                            "device_model",
                                            "env",
                                            "command",
                                            "volumes",
                                            "sub_master",
                                            "placement",
                                            "placements",
                                            "virtual_cluster",
                                            "working_directory",
                                            "image",
                                            "isolation",
                                            "group_name",
                                            "isolate_devices",
                                            "on_nodes"};
/// Keys that a manifest says in its own words.
constexpr std::string_view kManifestSays[]{"name",
                                           "group",
                                           "priority",
                                           "preemptible",
                                           "clean_pods",
                                           "roles",
                                           "backoff_limit",
                                           "rescale",
                                           "recovery",
                                           "labels"};

void read_bundle(const MapReader& reader, Bundle& bundle) {
  bundle = {kDefaultCpu, kDefaultMemory, 1, Share{}, ""};
  for (const auto& [key, alias] : {std::pair{"devices", "gpus"}, {"device_model", "gpu"}})
    if (reader.has(key) && reader.has(alias))
      reader.fail(alias,
                  "stands beside '" + std::string(key) +
                      "', which means the same, one is needed; remove it");
  const std::string_view devices = reader.has("gpus") ? "gpus" : "devices";
  if (const YamlNode* node = reader.find(devices)) {
    const auto amount = node->is_scalar() ? parse_devices(node->scalar) : std::nullopt;
    if (amount) {
      bundle.devices = amount->devices;
      bundle.share = amount->share;
    } else {
      reader.fail(devices,
                  found_instead(*node,
                                "a whole number from 0 to 64 or a part of one device from 0.001",
                                "correct it"));
    }
  }
  reader.read_text(reader.has("gpu") ? "gpu" : "device_model", bundle.device_model);
  reader.read_cpu("cpu", bundle.cpu);
  reader.read_size("memory", bundle.memory);
}

/// What the role's sub-master runs, where it is to have one.
std::optional<RoleSpec> read_role(const MapReader& reader,
                                  const YamlNode* workers,
                                  const JobSpec& spec,
                                  JobPlaces& places,
                                  RoleSpec& role) {
  read_replicas(reader, role);
  reader.read_enum("type", role.type);
  reader.read_enum("completion", role.completion);
  read_bundle(reader, role.bundle);
  read_program(reader, role);
  read_processes(reader, role);
  places.read_role(reader, workers, spec, role);
  return read_sub_master(reader);
}

void read_roles(const MapReader& job, JobPlaces& places, JobSpec& spec) {
  std::vector<LedRole> led;
  const YamlNode* roles = job.find("roles");
  if (roles == nullptr) {
    RoleSpec role;
    role.name = "worker";
    const YamlNode* workers = job.find("workers");
    const bool is_group = workers != nullptr && workers->is_map();
    if (auto master = read_role(job, is_group ? workers : nullptr, spec, places, role))
      led.push_back({0, *std::move(master)});
    spec.roles.push_back(std::move(role));
    return add_sub_masters(std::move(led), spec);
  }
  for (std::string_view key : kShortFormKeys)
    if (job.has(key))
      job.fail(key, "stands beside 'roles', which say it for each role; move it there");
  if (!roles->is_map()) {
    job.fail("roles",
             found_instead(*roles, "a map", "write learner: {replicas: 1} lines under it"));
    return;
  }
  for (const YamlEntry& entry : roles->entries) {
    if (spec.roles.size() > kRolesMax) break;  // Which check_spec tells.
    const MapReader reader(
        job.reading(), entry.value, section("jobs.roles"), job.subject_of("roles." + entry.key));
    RoleSpec role;
    role.name = entry.key;
    if (auto master = read_role(reader, reader.find("workers"), spec, places, role))
      led.push_back({spec.roles.size(), *std::move(master)});
    spec.roles.push_back(std::move(role));
  }
  add_sub_masters(std::move(led), spec);
}

/// Returns whether all that says where roles sit was sound.
bool read_native(const MapReader& job, PlacementGround& ground, JobSpec& spec) {
  std::string name;
  job.read_text("name", name);
  if (!job.has("name")) job.missing("name", "name: train");
  spec.name = full_job_name(name);
  job.read_text("group", spec.group.edit());
  spec.group.tidy();
  if (job.has("labels")) read_texts_by_name(job, "labels", spec.labels.items());
  read_priority(job, spec.priority);
  job.read_enum("rescale", spec.rescale);
  job.read_enum("recovery", spec.recovery);
  job.read_enum("clean_pods", spec.clean_pods);
  job.read_integer("backoff_limit", spec.backoff_limit, 0, INT32_MAX);
  JobPlaces places(ground);
  const std::size_t before = job.reading().count();
  places.read_virtual_clusters(job, spec);
  read_roles(job, places, spec);
  places.finish(job, spec);
  const bool sound = job.reading().count() == before;
  spec.preemptible = std::any_of(
      spec.roles.begin(), spec.roles.end(), [](const RoleSpec& role) { return role.is_elastic(); });
  job.read_bool("preemptible", spec.preemptible);
  return sound;
}

/// What may stand beside a manifest as well.
void read_common(const MapReader& job, JobSpec& spec) {
  job.read_text("profile", spec.profile.edit());
  spec.profile.tidy();
  job.read_integer("batch_size", spec.batch_size, 0, INT32_MAX);
  job.read_enum("family", spec.worker_family);
  job.read_duration("backoff_base", spec.backoff_base);
  job.read_duration("backoff_max", spec.backoff_max);
  job.read_duration("start_deadline", spec.start_deadline);
  job.read_duration("drain_grace", spec.drain_grace);
  job.read_duration("unknown_deadline", spec.unknown_deadline);
  read_failover(job, spec);
  if (spec.backoff_max < spec.backoff_base)
    job.fail("backoff_max", "is shorter than backoff_base; raise it or lower backoff_base");
}

void read_estimate(const MapReader& job, const WorkSpec& work, JobSpec& spec) {
  const YamlNode* node = job.find("estimate");
  if (node == nullptr) return;
  if (node->is_scalar() && node->scalar == "oracle") {
    if (work.units <= 0) {
      job.fail("estimate", "is oracle, but the job has no 'work' to know; add work or a time");
      return;
    }
    spec.estimate = run_time(
        work, spec.roles.empty() ? 1 : spec.roles[elastic_role(spec).index()].min_replicas);
    spec.estimate_source = EstimateSource::Oracle;
    return;
  }
  job.read_duration("estimate", spec.estimate);
  spec.estimate_source = EstimateSource::Declared;
}

void read_time_or_never(const MapReader& job, std::string_view key, std::optional<Duration>& to) {
  const YamlNode* node = job.find(key);
  if (node == nullptr) return;
  to = Duration::forever();
  if (node->is_scalar() && node->scalar == "never") return;
  job.read_duration(key, *to);
}

bool has_ports(const JobSpec& spec) {
  for (std::size_t r = 0; r < spec.roles.size(); ++r)
    if (ports_of(spec, RoleIndex{static_cast<std::uint16_t>(r)}) > 0) return true;
  return false;
}

void read_workers(const MapReader& job, ScenarioJob& to) {
  const YamlNode* node = job.find("workers");
  // In the short form a map is the worker group that the only role is.
  if (node != nullptr && node->is_map() && !job.has("roles") && !job.has("manifest")) return;
  std::size_t index = 0;
  for (const YamlNode& item : job.items("workers")) {
    const MapReader reader(job.reading(),
                           item,
                           section("jobs.workers"),
                           job.subject_of("workers[" + std::to_string(index++) + "]"));
    WorkerScript script;
    read_worker_ref(reader, script.worker);
    check_worker_ref(reader, to, script.worker);
    reader.read_enum("kind", script.kind);
    reader.read_duration("after", script.after);
    reader.read_integer("exit", script.exit_code, 0, 255);
    read_blames(reader, &to, script.blames);
    reader.read_integer("times", script.times, 1, INT32_MAX);
    if (script.kind != ScriptKind::Exit && reader.has("exit"))
      reader.fail("exit",
                  "stands with kind " + std::string(to_string(script.kind)) +
                      ", such a worker never ran; remove it");
    if (reader.has("blames") && (script.kind != ScriptKind::Exit || script.exit_code == 0))
      reader.fail("blames", "stands with a worker that does not fail by itself; remove it");
    if (script.kind == ScriptKind::PortInUse && !has_ports(to.spec))
      reader.fail("kind",
                  "is port_in_use, and no worker of this job has ports; write the command that "
                  "they run, which gives them one");
    to.workers.push_back(std::move(script));
  }
}

void refuse_beside_manifest(const MapReader& job, std::span<const std::string_view> keys) {
  for (std::string_view key : keys)
    if (job.has(key))
      job.fail(key, "stands beside 'manifest', which says it in its own words; remove it");
}

ScenarioJob read_job(const MapReader& top,
                     const YamlNode& node,
                     std::size_t index,
                     PlacementGround& ground,
                     const Scenario& scenario) {
  const MapReader job(top.reading(), node, section("jobs"), job_subject(node, index));
  ScenarioJob read;
  read.line = node.origin.line;
  job.read_instant("at", read.submit);
  const bool places_sound = read_job_spec(job, JobUse::Simulated, ground, read.spec);
  read_work(job, read.spec, scenario, read.work);
  read_estimate(job, read.work, read.spec);
  read_time_or_never(job, "ready_after", read.ready_after);
  read_time_or_never(job, "hello_after", read.hello_after);
  read_workers(job, read);
  check_job(job, read.spec, JobUse::Simulated, places_sound);
  return read;
}

}  // namespace

std::string job_subject(const YamlNode& node, std::size_t index) {
  const YamlNode* name = node.find("name");
  if (name == nullptr)
    if (const YamlNode* manifest = node.find("manifest"))
      if (const YamlNode* metadata = manifest->find("metadata")) name = metadata->find("name");
  if (name != nullptr && name->is_scalar() && name->scalar.size() <= 128)
    return "job " + name->scalar;
  return "jobs[" + std::to_string(index) + "]";
}

bool read_job_spec(const MapReader& job, JobUse use, PlacementGround& ground, JobSpec& spec) {
  bool places_sound = true;
  if (const YamlNode* manifest = job.find("manifest")) {
    refuse_beside_manifest(job, kManifestSays);
    refuse_beside_manifest(job, kShortFormKeys);
    for (std::string_view key : {"virtual_clusters", "take_turns"})
      if (job.has(key))
        job.fail(key, "stands beside 'manifest', whose tasks sit wherever they fit; remove it");
    read_manifest(job.reading(), *manifest, use, spec);
  } else {
    places_sound = read_native(job, ground, spec);
  }
  read_common(job, spec);
  return places_sound;
}

void read_replicas(const MapReader& reader, RoleSpec& role) {
  const YamlNode* node = reader.find("replicas");
  if (node == nullptr) return;
  if (!node->is_map()) {
    reader.read_integer("replicas", role.min_replicas, 1, kReplicasMax);
    role.max_replicas = role.min_replicas;
    return;
  }
  const MapReader range(
      reader.reading(), *node, section("jobs.replicas"), reader.subject_of("replicas"));
  range.read_integer("min", role.min_replicas, 1, kReplicasMax);
  role.max_replicas = role.min_replicas;
  range.read_integer("max", role.max_replicas, 1, kReplicasMax);
  if (!range.has("max")) range.missing("max", "replicas: {min: 1, max: 4}");
}

std::string full_job_name(std::string_view name) {
  if (name.find('.') != std::string_view::npos) return std::string(name);
  return "default." + std::string(name);
}

void read_worker_ref(const MapReader& entry, WorkerRef& worker) {
  entry.read_text("role", worker.role);
  entry.read_integer("rank", worker.index, 0, kReplicasMax);
  entry.read_integer("local", worker.index, 0, kReplicasMax);
  if (entry.has("rank") && (entry.has("role") || entry.has("local")))
    entry.fail("rank", "stands beside role and local, which name a worker too; keep one way");
  if (entry.has("local") && !entry.has("role"))
    entry.fail("local", "stands without 'role', whose workers it counts; add role or write rank");
}

void read_blames(const MapReader& entry, const ScenarioJob* job, Blamed& blamed) {
  const YamlNode* node = entry.find("blames");
  if (node == nullptr) return;
  if (node->is_map()) {
    const MapReader peer(
        entry.reading(), *node, section("faults.blames"), entry.subject_of("blames"));
    blamed.blame = Blame::Peer;
    if (!peer.has("rank") && !peer.has("role")) peer.missing("rank", "rank: 0");
    read_worker_ref(peer, blamed.peer);
    if (job != nullptr) check_worker_ref(peer, *job, blamed.peer);
    return;
  }
  const auto blame = node->is_scalar() ? enum_from<Blame>(node->scalar) : std::nullopt;
  if (blame == Blame::Mine || blame == Blame::Node)
    blamed.blame = *blame;
  else
    entry.fail(
        "blames",
        found_instead(
            *node, "mine, node or a worker of the job", "write for example node, or {rank: 0}"));
}

void check_worker_ref(const MapReader& entry,
                      const ScenarioJob& job,
                      const WorkerRef& worker,
                      std::span<const TimedRequest> requests) {
  const std::vector<std::int64_t> most = most_replicas(job, requests);
  std::int64_t workers = 0;
  bool found = worker.role.empty();
  for (std::size_t r = 0; r < most.size(); ++r) {
    if (!worker.role.empty() && job.spec.roles[r].name != worker.role) continue;
    found = true;
    workers += most[r];
  }
  if (!found)
    entry.fail("role",
               "is '" + worker.role + "', which " + job.spec.name +
                   " does not have; name one of "
                   "its roles");
  else if (worker.index >= workers)
    // A list without roles has no key `local` either.
    entry.fail(!worker.role.empty() && entry.has("local") ? "local" : "rank",
               "is " + std::to_string(worker.index) + ", but there are at most " +
                   std::to_string(workers) + " such workers; count from 0");
}

const ScenarioJob* read_job_name(const MapReader& entry,
                                 std::string_view key,
                                 const Scenario& scenario,
                                 std::string& name) {
  std::string written;
  entry.read_text(key, written);
  if (written.empty()) return nullptr;
  name = full_job_name(written);
  for (const ScenarioJob& job : scenario.jobs)
    if (job.spec.name == name) return &job;
  if (scenario.has_workload()) return nullptr;
  std::vector<std::string_view> names;
  for (const ScenarioJob& job : scenario.jobs) names.push_back(job.spec.name);
  const std::string_view near = nearest(name, names);
  entry.fail(key,
             "is '" + written + "', which no job is called; " +
                 (near.empty() ? "add the job or correct the name"
                               : "did you mean '" + std::string(near) + "'?"));
  return nullptr;
}

void read_jobs(const MapReader& top, Scenario& scenario) {
  const std::span<const YamlNode> items = top.items("jobs");
  std::vector<std::pair<std::string, std::size_t>> names;
  PlacementGround ground(scenario.groups);
  for (std::size_t i = 0; i < items.size(); ++i) {
    scenario.jobs.push_back(read_job(top, items[i], i, ground, scenario));
    names.emplace_back(scenario.jobs.back().spec.name, i);
  }
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i].first != names[i - 1].first || names[i].first == full_job_name("")) continue;
    top.reading().fail(items[names[i].second].origin,
                       "job " + names[i].first,
                       "has the name of the job at " +
                           top.reading().place(items[names[i - 1].second].origin) +
                           ", names are unique; rename one");
  }
}

}  // namespace orrery::scenarios
