#include "sim/storm/scenario_yaml.hpp"

#include <vector>

#include "core/record/version.hpp"
#include "scenarios/language/yaml/yaml_text.hpp"
#include "sim/storm/placement_yaml.hpp"

namespace orrery::sim {
namespace {

using scenarios::AfterEvent;
using scenarios::Fault;
using scenarios::FaultKind;
using scenarios::FlowMap;
using scenarios::Scenario;
using scenarios::ScenarioJob;
using scenarios::yaml_duration;
using scenarios::yaml_number;
using scenarios::yaml_spread;
using scenarios::yaml_string;

std::string plain_name(const std::string& full) {
  constexpr std::string_view kDefault = "default.";
  return full.starts_with(kDefault) ? full.substr(kDefault.size()) : full;
}

std::string bytes(Bytes value) { return std::to_string(value.count) + "B"; }

std::string millicores(MilliCpu value) { return std::to_string(value.count) + "m"; }

std::string yes_no(bool value) { return value ? "true" : "false"; }

// --- cluster and control ---

std::string group_of(const Scenario& scenario, std::size_t index) {
  const NodeGroup& group = scenario.groups[index];
  FlowMap map;
  map.put("name", yaml_string(group.name)).integer("nodes", group.count);
  map.integer("devices_per_node", group.devices);
  if (group.devices > 0) map.put("device_model", yaml_string(group.device_model));
  map.put("cpu", millicores(group.cpu)).put("memory", bytes(group.memory));
  map.unless(0, "nodes_per_rack", group.nodes_per_rack);
  if (index < scenario.nodes_per_switch.size())
    map.unless(0, "nodes_per_switch", scenario.nodes_per_switch[index]);
  map.unless(0, "spares", group.spares);
  put_topology(map, group);
  return map.text();
}

void write_cluster(const Scenario& scenario, std::string& out) {
  out += "cluster:\n  groups:\n";
  for (std::size_t i = 0; i < scenario.groups.size(); ++i)
    out += "    - " + group_of(scenario, i) + "\n";
  if (scenario.quotas.empty()) return;
  FlowMap quotas;
  for (const Quota& quota : scenario.quotas) quotas.integer(quota.scope, quota.devices);
  out += "quotas: " + quotas.text() + "\n";
}

void write_policy(const Scenario& scenario, std::string& out) {
  FlowMap policy;
  policy.put("name", yaml_string(scenario.policy.name));
  for (const scenarios::Parameter& parameter : scenario.policy.parameters)
    policy.put(parameter.key, yaml_string(parameter.value));
  out += "policy: " + policy.text() + "\n";
  if (!scenario.settings.placer.empty())
    out += "placer: " + yaml_string(scenario.settings.placer) + "\n";
  const Scenario usual;
  FlowMap planner;
  planner.unless(usual.planner_latency, "latency", scenario.planner_latency)
      .unless(usual.planner_deadline, "deadline", scenario.planner_deadline);
  if (!planner.empty()) out += "planner: " + planner.text() + "\n";
}

void write_jitter(const scenarios::Jitter& jitter, std::string& out) {
  if (!jitter.any()) return;
  FlowMap map;
  const Duration none;
  map.unless(none, "timers", jitter.timers).unless(none, "batches", jitter.batches);
  map.unless(none, "planner", jitter.planner).unless(0, "clocks_ppm", jitter.clocks_ppm);
  map.unless(0.0, "plans_lost", jitter.plans_lost);
  map.unless(0.0, "plans_garbled", jitter.plans_garbled);
  if (!jitter.plans_garbled_until.is_never())
    map.duration("plans_garbled_until", jitter.plans_garbled_until - Instant::zero());
  out += "jitter: " + map.text() + "\n";
}

void write_settings(const Settings& settings, std::string& out) {
  const Settings usual;
  FlowMap map;
  map.duration("node_lease", settings.node_lease).duration("fence_margin", settings.fence_margin);
  map.unless(usual.takeover_grace, "takeover_grace", settings.takeover_grace);
  map.unless(usual.retain_finished, "retain_finished", settings.retain_finished);
  map.unless(usual.retain_finished_max, "retain_finished_max", settings.retain_finished_max);
  map.unless(usual.preemption_grace, "preemption_grace", settings.preemption_grace);
  map.unless(usual.lemon_incidents, "lemon_incidents", settings.lemon_incidents);
  map.unless(usual.lemon_window, "lemon_window", settings.lemon_window);
  map.unless(usual.exclusion, "exclusion", settings.exclusion);
  map.unless(usual.kill_deadline, "kill_deadline", settings.kill_deadline);
  out += "controller: " + map.text() + "\n";
}

void put_varying(std::string_view key,
                 Duration time,
                 const scenarios::TimeSpread& spread,
                 FlowMap& map) {
  if (spread.empty())
    map.unless(Duration::zero(), key, time);
  else
    map.put(key, yaml_spread(spread));
}

void write_timing(const scenarios::Timing& timing, std::string& out) {
  FlowMap map;
  const Duration none;
  put_varying("start", timing.start, timing.spread.start, map);
  put_varying("stop", timing.stop, timing.spread.stop, map);
  put_varying("restore", timing.restore, timing.spread.restore, map);
  put_varying("rescale", timing.rescale, timing.spread.rescale, map);
  map.unless(none, "checkpoint_interval", timing.checkpoint_interval);
  map.unless(none, "checkpoint_cost", timing.checkpoint_cost);
  if (!map.empty()) out += "timing: " + map.text() + "\n";
}

// --- jobs ---

std::string devices_of(const Bundle& bundle) {
  if (bundle.share.is_whole()) return std::to_string(bundle.devices);
  return yaml_number(static_cast<double>(bundle.share.thousandths) / 1000);
}

void put_replicas(FlowMap& map, std::int32_t least, std::int32_t most) {
  if (least == most) {
    map.integer("replicas", least);
    return;
  }
  FlowMap range;
  range.integer("min", least).integer("max", most);
  map.put("replicas", range.text());
}

std::string texts_of(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + yaml_string(text);
  return "[" + out + "]";
}

std::string role_of(const JobSpec& spec, const RoleSpec& role) {
  FlowMap map;
  put_replicas(map, role.min_replicas, role.max_replicas);
  map.unless(TaskType::None, "type", role.type);
  map.unless(Completion::Required, "completion", role.completion);
  map.put("devices", devices_of(role.bundle));
  map.unless(std::string{}, "device_model", role.bundle.device_model);
  map.put("cpu", millicores(role.bundle.cpu)).put("memory", bytes(role.bundle.memory));
  const auto here = static_cast<std::uint16_t>(&role - spec.roles.data());
  if (!sub_master_of(spec, RoleIndex{here}).is_none()) map.put("sub_master", "true");
  if (!role.command.empty()) map.put("command", texts_of(role.command));
  put_place(map, role);
  return map.text();
}

std::string work_of(const scenarios::WorkSpec& work) {
  FlowMap map;
  map.put("units", yaml_number(work.units));
  if (work.scaling != scenarios::ScalingKind::Table)
    map.put("throughput", yaml_number(work.base_rate));
  if (work.scaling == scenarios::ScalingKind::Amdahl)
    map.put("scaling", "{amdahl: {serial: " + yaml_number(work.serial) + "}}");
  if (work.scaling == scenarios::ScalingKind::Table) {
    FlowMap table;
    for (const scenarios::ScalingPoint& point : work.table)
      table.put(std::to_string(point.replicas), yaml_number(point.throughput));
    map.put("scaling", "{table: " + table.text() + "}");
  }
  return map.text();
}

FlowMap& put_worker(FlowMap& map, const scenarios::WorkerRef& worker) {
  if (worker.role.empty()) return map.integer("rank", worker.index);
  return map.put("role", yaml_string(worker.role)).integer("local", worker.index);
}

FlowMap& put_blames(FlowMap& map, const scenarios::Blamed& blames) {
  if (blames.blame == Blame::None) return map;
  if (blames.blame != Blame::Peer) return map.put("blames", to_string(blames.blame));
  FlowMap peer;
  return map.put("blames", put_worker(peer, blames.peer).text());
}

std::string script_of(const scenarios::WorkerScript& script) {
  FlowMap map;
  put_worker(map, script.worker);
  map.unless(scenarios::ScriptKind::Exit, "kind", script.kind);
  map.unless(Duration{}, "after", script.after);
  if (script.kind == scenarios::ScriptKind::Exit)
    put_blames(map.unless(1, "exit", script.exit_code), script.blames);
  map.unless(1, "times", script.times);
  return map.text();
}

std::string failover_of(const FailoverSpec& spec) {
  const FailoverSpec usual;
  FlowMap map;
  map.unless(usual.mode, "mode", spec.mode).unless(usual.trigger, "trigger", spec.trigger);
  map.unless(usual.response, "response", spec.response);
  map.unless(usual.worker_failures_max, "worker_failures_max", spec.worker_failures_max);
  map.unless(
      usual.worker_node_failures_max, "worker_node_failures_max", spec.worker_node_failures_max);
  map.unless(usual.role_restarts_max, "role_restarts_max", spec.role_restarts_max);
  map.unless(usual.job_restarts_max, "job_restarts_max", spec.job_restarts_max);
  map.unless(usual.node_losses_max, "node_losses_max", spec.node_losses_max);
  map.unless(usual.preemptions_max, "preemptions_max", spec.preemptions_max);
  map.unless(usual.nodes_relaunched_max, "nodes_relaunched_max", spec.nodes_relaunched_max);
  map.unless(usual.reset_window, "reset_window", spec.reset_window);
  map.unless(usual.jitter, "jitter", spec.jitter);
  map.unless(usual.relaunch_group, "relaunch_group", spec.relaunch_group);
  map.unless(usual.relaunch_timeout, "relaunch_timeout", spec.relaunch_timeout);
  map.unless(usual.relaunch_group_timeout, "relaunch_group_timeout", spec.relaunch_group_timeout);
  map.unless(usual.sub_master_timeout, "sub_master_timeout", spec.sub_master_timeout);
  map.unless(usual.hang_after, "hang_after", spec.hang_after);
  map.unless(usual.hang_restarts, "hang_restarts", spec.hang_restarts);
  map.unless(usual.straggler_factor, "straggler_factor", spec.straggler_factor);
  map.unless(usual.straggler_moves, "straggler_moves", spec.straggler_moves);
  return map.empty() ? std::string{} : map.text();
}

void line(std::string& out, std::string_view key, std::string_view value) {
  out += "    " + std::string(key) + ": " + std::string(value) + "\n";
}

// --- DIJobs ---

std::string pod_of(const RoleSpec& role) {
  FlowMap requests;
  requests.put("cpu", millicores(role.bundle.cpu));
  requests.integer("memory", role.bundle.memory.count);
  if (role.bundle.devices > 0) requests.integer("nvidia.com/gpu", role.bundle.devices);
  return "{spec: {containers: [{name: di-container, resources: {requests: " + requests.text() +
         "}}]}}";
}

std::string task_of(const RoleSpec& role) {
  FlowMap map;
  map.put("name", yaml_string(role.name));
  map.unless(TaskType::None, "type", role.type).integer("replicas", role.min_replicas);
  return map.put("template", pod_of(role)).text();
}

void write_manifest(const JobSpec& spec, std::string& out) {
  const std::size_t dot = spec.name.find('.');
  FlowMap metadata;
  metadata.put("name", yaml_string(spec.name.substr(dot + 1)));
  metadata.put("namespace", yaml_string(spec.name.substr(0, dot)));
  FlowMap map;
  map.unless(std::string{}, "group", *spec.group);
  map.put("priority", spec.priority > 0 ? "high" : "normal");
  map.put("preemptible", yes_no(spec.preemptible));
  map.put("cleanPodPolicy", to_string(spec.clean_pods));
  if (spec.family == JobFamily::Group) {
    const RoleSpec& role = spec.roles.front();
    map.integer("minReplicas", role.min_replicas).integer("maxReplicas", role.max_replicas);
    FlowMap engine;
    engine.put("topology", to_string(spec.topology));
    engine.integer("parallelWorkers", spec.parallel_workers);
    map.put("engineFields", engine.text()).put("template", pod_of(role));
  } else {
    map.integer("backoffLimit", spec.backoff_limit);
    std::string tasks;
    for (const RoleSpec& role : spec.roles) tasks += (tasks.empty() ? "" : ", ") + task_of(role);
    map.put("tasks", "[" + tasks + "]");
  }
  out += "  - manifest:\n      apiVersion: diengine.opendilab.org/v2alpha1\n      kind: DIJob\n";
  out += "      metadata: " + metadata.text() + "\n      spec: " + map.text() + "\n";
}

void write_native(const JobSpec& spec, std::string& out) {
  const JobSpec usual;
  out += "  - name: " + yaml_string(plain_name(spec.name)) + "\n";
  if (!spec.group->empty()) line(out, "group", yaml_string(*spec.group));
  if (spec.priority != 0) line(out, "priority", std::to_string(spec.priority));
  line(out, "preemptible", yes_no(spec.preemptible));
  if (spec.rescale != usual.rescale) line(out, "rescale", to_string(spec.rescale));
  if (spec.recovery != usual.recovery) line(out, "recovery", to_string(spec.recovery));
  if (spec.clean_pods != usual.clean_pods) line(out, "clean_pods", to_string(spec.clean_pods));
  line(out, "backoff_limit", std::to_string(spec.backoff_limit));
  if (!spec.virtual_clusters.empty()) out += "    virtual_clusters:\n";
  for (const VirtualClusterSpec& cluster : spec.virtual_clusters)
    out += "      " + cluster.name + ": " + virtual_cluster_of(cluster) + "\n";
  if (!spec.take_turns.empty()) line(out, "take_turns", turns_of(spec));
  out += "    roles:\n";
  for (const RoleSpec& role : spec.roles)
    if (role.master_of.is_none()) out += "      " + role.name + ": " + role_of(spec, role) + "\n";
}

void write_job(const ScenarioJob& job, std::string& out) {
  const JobSpec& spec = job.spec;
  const JobSpec usual;
  if (spec.family == JobFamily::Native)
    write_native(spec, out);
  else
    write_manifest(spec, out);
  line(out, "at", yaml_duration(job.submit - Instant::zero()));
  const auto span = [&](std::string_view key, Duration value, Duration normal) {
    if (value != normal) line(out, key, yaml_duration(value));
  };
  span("backoff_base", spec.backoff_base, usual.backoff_base);
  span("backoff_max", spec.backoff_max, usual.backoff_max);
  span("start_deadline", spec.start_deadline, usual.start_deadline);
  span("drain_grace", spec.drain_grace, usual.drain_grace);
  span("unknown_deadline", spec.unknown_deadline, usual.unknown_deadline);
  span("wait_deadline", spec.wait_deadline, usual.wait_deadline);
  span("run_deadline", spec.run_deadline, usual.run_deadline);
  if (spec.estimate_source == EstimateSource::Declared)
    line(out, "estimate", yaml_duration(spec.estimate));
  if (const std::string failover = failover_of(*spec.failover); !failover.empty())
    line(out, "failover", failover);
  if (job.work.units > 0) line(out, "work", work_of(job.work));
  const auto time_or_never = [&](std::string_view key, const std::optional<Duration>& value) {
    if (value) line(out, key, value->is_forever() ? "never" : yaml_duration(*value));
  };
  time_or_never("ready_after", job.ready_after);
  time_or_never("hello_after", job.hello_after);
  if (job.workers.empty()) return;
  out += "    workers:\n";
  for (const scenarios::WorkerScript& script : job.workers)
    out += "      - " + script_of(script) + "\n";
}

// --- what happens ---

std::string request_of(const scenarios::TimedRequest& request) {
  FlowMap map;
  map.duration("at", request.at - Instant::zero());
  map.put("job", yaml_string(plain_name(request.job)));
  if (request.forgets) return map.put("delete", "true").text();
  if (request.change) {
    FlowMap change;
    if (request.change->priority) change.integer("priority", *request.change->priority);
    if (request.change->wait_deadline)
      change.duration("wait_deadline", *request.change->wait_deadline);
    if (request.change->run_deadline)
      change.duration("run_deadline", *request.change->run_deadline);
    if (request.change->backoff_limit)
      change.integer("backoff_limit", *request.change->backoff_limit);
    if (const auto& replicas = request.change->replicas) {
      change.unless(std::string{}, "role", replicas->role);
      put_replicas(change, replicas->min, replicas->max);
    }
    return map.put("change", change.text()).text();
  }
  if (!request.scale) return map.put("stop", "true").text();
  FlowMap scale;
  scale.unless(std::string{}, "role", request.scale->role);
  if (request.scale->mode == ScaleMode::Clear)
    scale.put("clear", "true");
  else
    scale.integer(to_string(request.scale->mode), request.scale->replicas);
  return map.put("scale", scale.text()).text();
}

std::string profiling_of(const scenarios::TimedProfiling& profiling) {
  FlowMap map;
  map.duration("at", profiling.at - Instant::zero());
  map.put("job", yaml_string(plain_name(profiling.job)));
  map.integer("rank", profiling.rank);
  FlowMap values;
  for (const ProfilingValue& value : profiling.values)
    values.put(value.key, yaml_number(value.value));
  return map.put("values", values.text()).text();
}

std::string list_of(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value);
  return "[" + text + "]";
}

std::string bits_of(std::uint64_t devices) {
  std::string text;
  for (int i = 0; i < 64; ++i)
    if ((devices >> i & 1) != 0) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

std::string after_of(const AfterEvent& after) {
  FlowMap map;
  map.put("event", to_string(after.event));
  if (!after.job.empty()) map.put("job", yaml_string(plain_name(after.job)));
  if (after.phase) map.put("phase", to_string(*after.phase));
  if (after.worker) put_worker(map, *after.worker);
  if (!after.node.is_none()) map.integer("node", after.node.value);
  if (after.command) map.put("command", to_string(*after.command));
  if (after.fault) map.integer("fault", *after.fault);
  map.unless(1, "count", after.count).unless(Duration{}, "delay", after.delay);
  return map.text();
}

// The keys that one kind has of its own.
void put_own(FlowMap& map, const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::Crash:
      put_blames(map.unless(1, "exit_code", fault.exit_code), fault.blames);
      return;
    case FaultKind::Slow:
    case FaultKind::Bandwidth:
      map.put("factor", yaml_number(fault.factor));
      return;
    case FaultKind::DeviceLost:
      map.put("devices", bits_of(fault.devices));
      return;
    case FaultKind::PreemptionNotice:
      map.duration("notice", fault.notice);
      return;
    case FaultKind::LinkCut:
      map.unless(scenarios::LinkDirection::Both, "direction", fault.direction);
      return;
    case FaultKind::Latency:
    case FaultKind::StoreSlow:
      map.duration("added", fault.added);
      return;
    case FaultKind::Loss:
    case FaultKind::Duplication:
      map.put("rate", yaml_number(fault.rate));
      return;
    case FaultKind::Reordering:
      map.duration("window", fault.window);
      return;
    case FaultKind::ControllerCrash:
      map.unless(scenarios::CrashPoint::Anywhere, "point", fault.point);
      return;
    case FaultKind::ClockStep:
      map.duration("by", fault.step);
      return;
    case FaultKind::SubMasterCrash:
      map.put("arrow", to_string(fault.arrow));
      return;
    case FaultKind::Delete:
    case FaultKind::Hang:
    case FaultKind::Stuck:
    case FaultKind::Down:
    case FaultKind::Up:
    case FaultKind::RebootLoop:
    case FaultKind::AgentCrash:
    case FaultKind::Cordon:
    case FaultKind::Uncordon:
    case FaultKind::SecondLeader:
    case FaultKind::ControllerPause:
    case FaultKind::StoreFail:
    case FaultKind::StoreTorn:
      return;
  }
}

std::string fault_of(const Fault& fault) {
  FlowMap map;
  map.put("kind", to_string(fault.kind));
  const bool at_message = fault.kind == FaultKind::SubMasterCrash && fault.at == Instant::zero();
  if (!fault.after && !at_message) map.duration("at", fault.at - Instant::zero());
  if (fault.after) map.put("after_event", after_of(*fault.after));
  if (fault.times > 1) {
    map.integer("times", fault.times);
    map.unless(Duration{}, "every", fault.every);
  }
  if (!fault.job.empty()) map.put("job", yaml_string(plain_name(fault.job)));
  if (fault.kind == FaultKind::SubMasterCrash)
    map.put("role", yaml_string(fault.worker.role));
  else if (!fault.job.empty())
    put_worker(map, fault.worker);
  if (!fault.nodes.empty()) map.put("nodes", list_of(fault.nodes));
  put_own(map, fault);
  if (!fault.lasting.is_forever()) map.duration("lasting", fault.lasting);
  return map.text();
}

template <class Items, class Text>
void write_list(std::string& out, std::string_view key, const Items& items, const Text& text) {
  if (items.empty()) return;
  out += std::string(key) + ":\n";
  for (const auto& item : items) out += "  - " + text(item) + "\n";
}

void write_relaunch(const scenarios::Relaunch& relaunch, std::string& out) {
  if (relaunch.answer == scenarios::RelaunchAnswer::None && relaunch.after.ns == 0) return;
  FlowMap map;
  map.put("answer", to_string(relaunch.answer));
  if (relaunch.answer != scenarios::RelaunchAnswer::TimesOut) map.duration("after", relaunch.after);
  if (relaunch.answer == scenarios::RelaunchAnswer::Partial) map.integer("count", relaunch.count);
  out += "relaunch: " + map.text() + "\n";
}

}  // namespace

std::string to_yaml(const Scenario& scenario) {
  std::string out;
  if (!scenario.description.empty())
    out += "description: " + yaml_string(scenario.description) + "\n";
  out += "seed: " + std::to_string(scenario.seed) + "\n";
  if (scenario.invariants) out += "invariants: true\n";
  // The language does not have them: a scenario is run as a program of today decides.
  if (scenario.settings.rules != kDecisionRules)
    out += "# It was found under rules " + std::to_string(scenario.settings.rules) +
           "; run its seed again for these.\n";
  write_cluster(scenario, out);
  write_policy(scenario, out);
  write_jitter(scenario.jitter, out);
  write_settings(scenario.settings, out);
  write_timing(scenario.timing, out);
  write_relaunch(scenario.relaunch, out);
  if (!scenario.until.is_never())
    out += "until: " + yaml_duration(scenario.until - Instant::zero()) + "\n";
  if (!scenario.jobs.empty()) out += "jobs:\n";
  for (const ScenarioJob& job : scenario.jobs) write_job(job, out);
  write_list(out, "requests", scenario.requests, request_of);
  write_list(out, "profilings", scenario.profilings, profiling_of);
  write_list(out, "faults", scenario.faults, fault_of);
  return out;
}

}  // namespace orrery::sim
