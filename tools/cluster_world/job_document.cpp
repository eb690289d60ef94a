#include "tools/cluster_world/job_document.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/language/jobs/job_file.hpp"

namespace orrery::cli {
namespace {

std::string time_text(Duration time) { return std::to_string(time.ns) + "ns"; }

nlohmann::ordered_json patience(Duration time) {
  return time.is_forever() ? "never" : time_text(time);
}

nlohmann::ordered_json limit(std::int32_t count) {
  return count == kUnlimited ? nlohmann::ordered_json("unlimited") : nlohmann::ordered_json(count);
}

nlohmann::ordered_json by_name(const std::vector<KeyValue>& texts) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const KeyValue& text : texts) out[text.key] = text.value;
  return out;
}

/// How the role's processes are shown what they are.
void put_processes(const ProcessSpec& process, nlohmann::ordered_json& to) {
  if (!process.group_name.empty()) to["group_name"] = process.group_name;
  if (!process.isolate_devices) to["isolate_devices"] = false;
  for (const NodeProgram& program : process.on_nodes) {
    nlohmann::ordered_json entry{{"nodes", program.nodes}, {"env", by_name(program.environment)}};
    if (!program.interpreter.empty()) entry["interpreter"] = program.interpreter;
    if (!program.node_group.empty()) entry["node_group"] = program.node_group;
    to["on_nodes"].push_back(std::move(entry));
  }
}

/// What a role's workers run.
void put_program(const RoleSpec& role, nlohmann::ordered_json& to) {
  to["command"] = role.command;
  if (!role.environment.empty()) to["env"] = by_name(role.environment);
  if (!role.volumes.empty()) to["volumes"] = role.volumes;
  if (!role.working_directory.empty()) to["working_directory"] = role.working_directory;
  if (!role.image.empty()) to["image"] = role.image;
  put_processes(*role.process, to);
  if (role.isolation.key.empty()) return;
  nlohmann::ordered_json& isolation = to["isolation"];
  isolation["key"] = role.isolation.key;
  if (!role.isolation.prepare.empty()) isolation["prepare"] = role.isolation.prepare;
  if (!role.isolation.interpreter.empty()) isolation["interpreter"] = role.isolation.interpreter;
  isolation["deadline"] = time_text(role.isolation.prepare_deadline);
}

void put_bundle(const Bundle& bundle, nlohmann::ordered_json& to) {
  to["devices"] = bundle.share.is_whole()
                      ? nlohmann::ordered_json(bundle.devices)
                      : nlohmann::ordered_json(std::to_string(bundle.share.thousandths / 1000.0));
  if (!bundle.device_model.empty()) to["device_model"] = bundle.device_model;
  to["cpu"] = std::to_string(bundle.cpu.count) + "m";
  to["memory"] = std::to_string(bundle.memory.count) + "B";
}

nlohmann::ordered_json placement_of(const RolePlacement& placement) {
  if (placement.node_groups.empty()) return placement.text;
  return {{"node_group", placement.node_groups}, {"placement", placement.text}};
}

/// Where the role sits. What follows from it (devices, models) is left to the reader.
void put_seats(const RoleSpec& role, nlohmann::ordered_json& to) {
  for (const RolePlacement& placement : role.placements)
    to["placements"][std::to_string(placement.replicas)] = placement_of(placement);
  if (!role.workers.is_set()) return;
  nlohmann::ordered_json& workers = to["workers"];
  workers["virtual_cluster"] = role.workers.virtual_cluster;
  if (!role.workers.workers_per_node.empty()) workers["per_node"] = role.workers.workers_per_node;
  for (const TiedBundles& tied : role.workers.tied)
    workers["tied"].push_back({{"node", tied.node}, {"bundles", tied.bundles}});
}

nlohmann::ordered_json role_document(const JobSpec& spec, RoleIndex index) {
  const RoleSpec& role = spec.roles[index.index()];
  nlohmann::ordered_json out;
  if (!role.is_seated()) out["replicas"] = {{"min", role.min_replicas}, {"max", role.max_replicas}};
  if (role.type != TaskType::None) out["type"] = to_string(role.type);
  out["completion"] = to_string(role.completion);
  if (role.is_seated()) {
    out["cpu"] = std::to_string(role.bundle.cpu.count) + "m";
    out["memory"] = std::to_string(role.bundle.memory.count) + "B";
  } else {
    put_bundle(role.bundle, out);
  }
  put_program(role, out);
  put_seats(role, out);
  if (const RoleIndex master = sub_master_of(spec, index); !master.is_none())
    put_program(spec.roles[master.index()], out["sub_master"]);
  return out;
}

nlohmann::ordered_json virtual_cluster_document(const VirtualClusterSpec& cluster) {
  nlohmann::ordered_json out;
  out["bundles_per_node"] = cluster.bundles_per_node;
  out["devices_per_bundle"] = cluster.devices_per_bundle;
  if (!cluster.device_model.empty()) out["device_model"] = cluster.device_model;
  out["cpu"] = std::to_string(cluster.cpu_per_bundle.count) + "m";
  out["memory"] = std::to_string(cluster.memory_per_bundle.count) + "B";
  out["unified"] = cluster.unified;
  out["strategy"] = to_string(cluster.strategy);
  out["max_worker_groups"] = cluster.max_worker_groups;
  out["segment_by"] = to_string(cluster.segment_by);
  if (cluster.segment_size > 0) out["segment_size"] = cluster.segment_size;
  return out;
}

nlohmann::ordered_json failover_document(const FailoverSpec& failover) {
  nlohmann::ordered_json out;
  out["mode"] = to_string(failover.mode);
  out["trigger"] = to_string(failover.trigger);
  out["response"] = to_string(failover.response);
  out["worker_failures_max"] = limit(failover.worker_failures_max);
  out["worker_node_failures_max"] = limit(failover.worker_node_failures_max);
  out["role_restarts_max"] = limit(failover.role_restarts_max);
  out["job_restarts_max"] = limit(failover.job_restarts_max);
  out["node_losses_max"] = limit(failover.node_losses_max);
  out["preemptions_max"] = limit(failover.preemptions_max);
  out["nodes_relaunched_max"] = limit(failover.nodes_relaunched_max);
  out["reset_window"] = patience(failover.reset_window);
  out["jitter"] = failover.jitter;
  out["relaunch_group"] = failover.relaunch_group;
  out["relaunch_timeout"] = patience(failover.relaunch_timeout);
  out["relaunch_group_timeout"] = patience(failover.relaunch_group_timeout);
  out["sub_master_timeout"] = patience(failover.sub_master_timeout);
  out["hang_after"] = patience(failover.hang_after);
  out["hang_restarts"] = failover.hang_restarts;
  out["straggler_factor"] = failover.straggler_factor;
  out["straggler_moves"] = failover.straggler_moves;
  return out;
}

void put_times(const JobSpec& spec, nlohmann::ordered_json& to) {
  if (spec.estimate_source != EstimateSource::None) to["estimate"] = time_text(spec.estimate);
  to["backoff_base"] = time_text(spec.backoff_base);
  to["backoff_max"] = time_text(spec.backoff_max);
  to["start_deadline"] = time_text(spec.start_deadline);
  to["drain_grace"] = time_text(spec.drain_grace);
  to["unknown_deadline"] = time_text(spec.unknown_deadline);
  to["wait_deadline"] = patience(spec.wait_deadline);
  to["run_deadline"] = patience(spec.run_deadline);
}

/// What stands beside a manifest as well.
void put_common(const JobSpec& spec, nlohmann::ordered_json& to) {
  if (!spec.profile->empty()) to["profile"] = *spec.profile;
  if (spec.batch_size > 0) to["batch_size"] = spec.batch_size;
  if (spec.worker_family != JobSpec{}.worker_family) to["family"] = to_string(spec.worker_family);
  put_times(spec, to);
  if (*spec.failover != FailoverSpec{}) to["failover"] = failover_document(*spec.failover);
}

nlohmann::ordered_json native_document(const JobSpec& spec) {
  nlohmann::ordered_json out;
  out["name"] = spec.name;
  if (!spec.group->empty()) out["group"] = *spec.group;
  out["priority"] = spec.priority;
  out["preemptible"] = spec.preemptible;
  out["rescale"] = to_string(spec.rescale);
  out["recovery"] = to_string(spec.recovery);
  out["backoff_limit"] = spec.backoff_limit;
  out["clean_pods"] = to_string(spec.clean_pods);
  if (!spec.labels.empty()) out["labels"] = by_name(spec.labels.items());
  for (const VirtualClusterSpec& cluster : spec.virtual_clusters)
    out["virtual_clusters"][cluster.name] = virtual_cluster_document(cluster);
  for (const TurnGroup& turns : spec.take_turns) out["take_turns"].push_back(turns.roles);
  for (std::size_t r = 0; r < spec.roles.size(); ++r)
    if (spec.roles[r].master_of.is_none())
      out["roles"][spec.roles[r].name] =
          role_document(spec, RoleIndex{static_cast<std::uint16_t>(r)});
  put_common(spec, out);
  return out;
}

nlohmann::ordered_json pod_template_of(const RoleSpec& role) {
  nlohmann::ordered_json container;
  container["name"] = "di-container";
  if (!role.image.empty()) container["image"] = role.image;
  if (!role.working_directory.empty()) container["workingDir"] = role.working_directory;
  container["command"] = role.command;
  for (const KeyValue& variable : role.environment)
    container["env"].push_back({{"name", variable.key}, {"value", variable.value}});
  nlohmann::ordered_json& limits = container["resources"]["limits"];
  limits["cpu"] = std::to_string(role.bundle.cpu.count) + "m";
  limits["memory"] = std::to_string(role.bundle.memory.count);
  limits["nvidia.com/gpu"] = std::to_string(role.bundle.devices);
  return {{"spec", {{"containers", nlohmann::ordered_json::array({container})}}}};
}

/// A DIJob in the form of its family.
nlohmann::ordered_json manifest_document(const JobSpec& spec) {
  const std::size_t dot = spec.name.find('.');
  nlohmann::ordered_json body;
  if (!spec.group->empty()) body["group"] = *spec.group;
  if (spec.priority != 0) body["priority"] = "high";
  body["preemptible"] = spec.preemptible;
  body["cleanPodPolicy"] = to_string(spec.clean_pods);
  if (spec.family == JobFamily::Group) {
    const RoleSpec& role = spec.roles.front();
    body["minReplicas"] = role.min_replicas;
    body["maxReplicas"] = role.max_replicas;
    body["engineFields"] = {{"topology", to_string(spec.topology)},
                            {"parallelWorkers", spec.parallel_workers}};
    body["template"] = pod_template_of(role);
  } else {
    body["backoffLimit"] = spec.backoff_limit;
    body["tasks"] = nlohmann::ordered_json::array();
    for (const RoleSpec& role : spec.roles) {
      nlohmann::ordered_json task;
      task["name"] = role.name;
      if (role.type != TaskType::None) task["type"] = to_string(role.type);
      task["replicas"] = role.min_replicas;
      task["template"] = pod_template_of(role);
      body["tasks"].push_back(std::move(task));
    }
  }
  nlohmann::ordered_json out;
  out["manifest"] = {
      {"apiVersion", "diengine.opendilab.org/v2alpha1"},
      {"kind", "DIJob"},
      {"metadata", {{"name", spec.name.substr(dot + 1)}, {"namespace", spec.name.substr(0, dot)}}},
      {"spec", std::move(body)}};
  put_common(spec, out);
  return out;
}

/// The same, as far as a submitted job can say it: that an estimate is the truth, no user knows.
JobSpec as_submitted(JobSpec spec) {
  if (spec.estimate_source == EstimateSource::Oracle)
    spec.estimate_source = EstimateSource::Declared;
  for (RoleSpec& role : spec.roles.items())
    if (role.isolation.key.empty()) role.isolation = {};
  return spec;
}

}  // namespace

std::string job_document(const std::vector<JobSpec>& specs) {
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const JobSpec& spec : specs)
    jobs.push_back(spec.family == JobFamily::Native ? native_document(spec)
                                                    : manifest_document(spec));
  return nlohmann::ordered_json{{"jobs", std::move(jobs)}}.dump();
}

Errors lost_in_document(const std::vector<JobSpec>& specs,
                        std::span<const NodeGroup> groups,
                        const std::string& file) {
  scenarios::JobFileOptions options;
  options.groups = groups;
  const auto read = scenarios::parse_job_file(job_document(specs), file, options);
  if (!read) return read.errors();
  Errors errors;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (i >= read->jobs.size() || read->jobs[i] != as_submitted(specs[i]))
      errors.push_back({ErrorCode::InvalidInput,
                        file,
                        0,
                        "job " + specs[i].name,
                        "no job file says all of it, by which world cluster submits it; use world "
                        "model"});
  return errors;
}

}  // namespace orrery::cli
