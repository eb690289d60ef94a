#include <algorithm>
#include <utility>

#include "scenarios/language/readers.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kRequestedReplicasMax = 1'048'576;

void need_at(const MapReader& reader, Instant& at) {
  if (!reader.has("at")) reader.missing("at", "at: 60s");
  reader.read_instant("at", at);
}

// Empty: no role in particular.
void check_role(const MapReader& reader, const ScenarioJob* job, const std::string& name) {
  if (job == nullptr || name.empty()) return;
  const bool known = std::any_of(job->spec.roles.begin(),
                                 job->spec.roles.end(),
                                 [&](const RoleSpec& role) { return role.name == name; });
  if (!known)
    reader.fail(
        "role",
        "is '" + name + "', which " + job->spec.name + " does not have; name one of its roles");
}

ScaleCall read_scale(const MapReader& request, const YamlNode& node, const ScenarioJob* job) {
  const MapReader reader(
      request.reading(), node, section("requests.scale"), request.subject_of("scale"));
  ScaleCall call;
  reader.read_text("role", call.role);
  check_role(reader, job, call.role);
  int modes = 0;
  for (const auto& [key, mode] :
       {std::pair{"add", ScaleMode::Add}, {"remove", ScaleMode::Remove}, {"set", ScaleMode::Set}}) {
    if (!reader.has(key)) continue;
    ++modes;
    call.mode = mode;
    reader.read_integer(key, call.replicas, 0, kRequestedReplicasMax);
  }
  if (reader.has("clear")) {
    bool clear = true;
    reader.read_bool("clear", clear);
    if (!clear) reader.fail("clear", "is false, true is needed; write clear: true or remove it");
    ++modes;
    call.mode = ScaleMode::Clear;
  }
  if (modes != 1)
    request.fail("scale",
                 "has " + std::to_string(modes) +
                     " of add, remove, set and clear, exactly one is needed; write for example "
                     "{add: 1}");
  return call;
}

// The role whose bounds change: the one that is named, or the only one.
void read_other_replicas(const MapReader& reader,
                         const ScenarioJob* job,
                         std::optional<ReplicasChange>& to) {
  std::string role;
  reader.read_text("role", role);
  check_role(reader, job, role);
  if (!reader.has("replicas")) {
    if (reader.has("role"))
      reader.fail("role", "stands without replicas, whose role it is; add replicas or remove it");
    return;
  }
  if (role.empty() && job != nullptr && job->spec.roles.size() > 1)
    reader.missing("role", "role: " + job->spec.roles.front().name);
  RoleSpec bounds;
  read_replicas(reader, bounds);
  if (bounds.max_replicas < bounds.min_replicas)
    reader.fail("replicas", "has a max below its min; exchange them");
  to = ReplicasChange{std::move(role), bounds.min_replicas, bounds.max_replicas};
}

ChangeCall read_change(const MapReader& request, const YamlNode& node, const ScenarioJob* job) {
  const MapReader reader(
      request.reading(), node, section("requests.change"), request.subject_of("change"));
  ChangeCall call;
  const auto read_time = [&](std::string_view key, std::optional<Duration>& to) {
    if (reader.has(key)) reader.read_duration(key, to.emplace(Duration::forever()));
  };
  if (reader.has("priority")) read_priority(reader, call.priority.emplace());
  read_time("wait_deadline", call.wait_deadline);
  read_time("run_deadline", call.run_deadline);
  if (reader.has("backoff_limit"))
    reader.read_integer("backoff_limit", call.backoff_limit.emplace(), 0, INT32_MAX);
  read_other_replicas(reader, job, call.replicas);
  if (!call.priority && !call.wait_deadline && !call.run_deadline && !call.backoff_limit &&
      !call.replicas)
    request.fail("change", "changes nothing; write for example {priority: 5}");
  return call;
}

TimedRequest read_request(const MapReader& reader, const Scenario& scenario) {
  TimedRequest request;
  need_at(reader, request.at);
  if (!reader.has("job")) reader.missing("job", "job: train");
  const ScenarioJob* job = read_job_name(reader, "job", scenario, request.job);
  bool stop = false;
  reader.read_bool("stop", stop);
  if (const YamlNode* scale = reader.find("scale")) request.scale = read_scale(reader, *scale, job);
  if (const YamlNode* change = reader.find("change"))
    request.change = read_change(reader, *change, job);
  reader.read_bool("delete", request.forgets);
  const int asked = int{stop} + int{request.forgets} + int{request.scale.has_value()} +
                    int{request.change.has_value()};
  if (asked != 1)
    reader.reading().fail(reader.origin(),
                          reader.subject(),
                          "asks for " + std::to_string(asked) +
                              " of scale, change, stop and delete, one is needed; write for "
                              "example scale: {add: 1}");
  return request;
}

void read_values(const MapReader& reader, std::vector<ProfilingValue>& values) {
  const YamlNode* node = reader.find("values");
  if (node == nullptr || !node->is_map() || node->entries.empty()) {
    reader.fail("values",
                "is " + (node == nullptr ? "missing" : describe(*node)) +
                    ", a map from key to number is needed; write for example {throughput: 120}");
    return;
  }
  for (const YamlEntry& entry : node->entries) {
    const auto value = entry.value.is_scalar() ? parse_number(entry.value.scalar) : std::nullopt;
    if (value)
      values.push_back({entry.key, *value});
    else
      reader.reading().fail(entry.value.origin,
                            reader.subject_of("values") + "." + entry.key,
                            found_instead(entry.value, "a number", "correct it"));
  }
}

// What the role may have once the request is granted, where it may have `most` before.
std::int64_t most_after(const TimedRequest& request, const std::string& role, std::int64_t most) {
  const auto is_meant = [&](const std::string& name) { return name.empty() || name == role; };
  if (request.scale && is_meant(request.scale->role)) {
    if (request.scale->mode == ScaleMode::Set)
      most = std::max<std::int64_t>(most, request.scale->replicas);
    if (request.scale->mode == ScaleMode::Add) most += request.scale->replicas;
  }
  if (request.change && request.change->replicas && is_meant(request.change->replicas->role))
    most = std::max<std::int64_t>(most, request.change->replicas->max);
  return most;
}

}  // namespace

std::vector<std::int64_t> most_replicas(const ScenarioJob& job,
                                        std::span<const TimedRequest> requests) {
  std::vector<std::int64_t> most;
  for (const RoleSpec& role : job.spec.roles) most.push_back(role.max_replicas);
  for (const TimedRequest& request : requests)
    for (std::size_t r = 0; r < most.size() && request.job == job.spec.name; ++r)
      most[r] = most_after(request, job.spec.roles[r].name, most[r]);
  return most;
}

void read_requests(const MapReader& top, Scenario& scenario) {
  for (const YamlNode& item : top.items("requests")) {
    const std::string subject = "requests[" + std::to_string(scenario.requests.size()) + "]";
    const MapReader reader(top.reading(), item, section("requests"), subject);
    scenario.requests.push_back(read_request(reader, scenario));
  }
  for (const YamlNode& item : top.items("profilings")) {
    const std::string subject = "profilings[" + std::to_string(scenario.profilings.size()) + "]";
    const MapReader reader(top.reading(), item, section("profilings"), subject);
    TimedProfiling profiling;
    need_at(reader, profiling.at);
    if (!reader.has("job")) reader.missing("job", "job: train");
    const ScenarioJob* job = read_job_name(reader, "job", scenario, profiling.job);
    reader.read_integer("rank", profiling.rank, 0, kRequestedReplicasMax);
    if (job != nullptr) check_worker_ref(reader, *job, {"", profiling.rank}, scenario.requests);
    read_values(reader, profiling.values);
    scenario.profilings.push_back(std::move(profiling));
  }
}

}  // namespace orrery::scenarios
