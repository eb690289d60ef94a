// Every key of the language, by section. docs/scenario_format.md has one table per section.
#include "scenarios/language/yaml/section_table.hpp"

namespace orrery::scenarios {
namespace {

/// Of equal nodes: those of the cluster or of one group.
constexpr std::string_view kNodeKeys =
    "nodes devices_per_node gpus_per_node device_model gpu cpu memory nodes_per_rack "
    "nodes_per_switch nodes_per_nvlink_domain vendor hardware spares ports";

/// Of a role; a job of one role has them itself.
constexpr std::string_view kRoleKeys =
    "replicas type completion devices gpus device_model gpu cpu memory command env volumes "
    "sub_master placement placements virtual_cluster";

constexpr SectionKeys kSections[]{
    {"scenario",
     {"name description seed world fidelity cluster quotas policy planner until timing jobs "
      "controller workload faults requests expect outputs profilings failures relaunch must_fail "
      "invariants control jitter placer priority_classes time_scale calibration"}},
    {"calibration", {"version timing planner cluster observed"}},
    {"calibration.planner", {"latency"}},
    {"calibration.cluster", {"devices network"}},
    {"cluster", {kNodeKeys, "groups devices network"}},
    {"cluster.groups", {"name", kNodeKeys}},
    {"cluster.devices", {"compute memory bandwidth speed"}},
    {"cluster.network",
     {"topology nic_bandwidth latency nodes_per_leaf oversubscription link_bandwidth torus "
      "dragonfly platform device_bandwidth storage_bandwidth wiring stage"}},
    {"cluster.network.dragonfly", {"groups chassis routers nodes_per_router"}},
    {"policy.queues", {"tree default period half_life patience resources"}},
    {"policy.queues.tree",
     {"name parent weight priority guarantee limit borrow reclaim user_limit users"}},
    {"planner", {"latency deadline steps"}},
    {"jitter", {"timers batches planner clocks_ppm plans_lost plans_garbled plans_garbled_until"}},
    {"controller",
     {"node_lease fence_margin takeover_grace retain_finished retain_finished_max "
      "preemption_grace lemon_incidents lemon_window exclusion kill_deadline"}},
    {"timing",
     {"mode start stop restore rescale checkpoint_interval checkpoint_cost tick restart round"}},
    {"timing.start", {"quantiles"}},
    {"jobs",
     {"name at group priority preemptible rescale recovery backoff_limit backoff_base backoff_max "
      "start_deadline drain_grace unknown_deadline wait_deadline run_deadline failover clean_pods "
      "profile batch_size family estimate roles manifest work workers ready_after hello_after",
      kRoleKeys,
      "virtual_clusters take_turns working_directory image isolation labels group_name "
      "isolate_devices on_nodes"}},
    {"jobs.roles",
     {kRoleKeys, "workers working_directory image isolation group_name isolate_devices on_nodes"}},
    {"jobs.roles.isolation", {"key prepare interpreter deadline"}},
    {"jobs.roles.on_nodes", {"nodes ranks env interpreter node_group"}},
    {"jobs.roles.sub_master", {"command env volumes working_directory image isolation"}},
    {"jobs.roles.placement", {"node_group placement"}},
    {"jobs.roles.workers", {"virtual_cluster per_node tied"}},
    {"jobs.roles.workers.tied", {"node bundles"}},
    {"jobs.virtual_clusters",
     {"nodes bundles_per_node devices_per_bundle device_model gpu cpu memory unified strategy "
      "max_worker_groups segment_by segment_size"}},
    {"jobs.failover",
     {"mode trigger response worker_failures_max worker_node_failures_max role_restarts_max "
      "job_restarts_max node_losses_max preemptions_max nodes_relaunched_max reset_window jitter "
      "relaunch_group relaunch_timeout relaunch_group_timeout sub_master_timeout hang_after "
      "hang_restarts straggler_factor straggler_moves"}},
    {"jobs.replicas", {"min max"}},
    {"jobs.work",
     {"duration units throughput flops_per_unit efficiency scaling step loop checkpoint"}},
    {"jobs.work.scaling", {"amdahl table"}},
    {"jobs.work.scaling.amdahl", {"serial"}},
    {"jobs.work.step",
     {"units gradient all_reduce overlap tensor_parallel tensor pipeline_parallel activation "
      "microbatches"}},
    {"jobs.work.loop", {"generate reward inference train weights stream search"}},
    {"jobs.work.loop.generate", {"role sequences tokens_per_second concurrent length"}},
    {"jobs.work.loop.generate.length", {"median sigma max"}},
    {"jobs.work.loop.reward", {"role time"}},
    {"jobs.work.loop.inference", {"role time"}},
    {"jobs.work.loop.train", {"role time gradient overlap"}},
    {"jobs.work.loop.stream",
     {"scheduler group minibatches pre_process wait_before_last resize migrate"}},
    {"jobs.work.loop.search", {"switch handover group micro_batches devices apart replicas"}},
    {"jobs.work.checkpoint", {"size interval blocking"}},
    {"jobs.workers", {"rank role local kind after exit blames times"}},
    {"jobs.manifest", {"apiVersion kind metadata spec status"}},
    {"jobs.manifest.spec",
     {"group priority cleanPodPolicy preemptible minReplicas maxReplicas engineFields template "
      "backoffLimit volumes tasks"}},
    {"jobs.manifest.spec.engineFields", {"topology parallelWorkers"}},
    {"jobs.manifest.spec.tasks", {"name type replicas template"}},
    {"workload",
     {"format file profiles profiles_by_model limit duplicates zero_gpus censored estimates "
      "preemptible "
      "host_resources throughputs speeds_of fill generator batsim elastisim"}},
    {"workload.batsim", {"file events strict host_flops limit"}},
    {"workload.elastisim", {"file root host_flops gpu_flops burst_buffer limit"}},
    {"workload.generator",
     {"preset jobs seed arrivals duration gpu_mix preemptible_share elastic_share elastic_shrink "
      "elastic_grow step checkpoint estimate users user_skew"}},
    {"workload.generator.arrivals", {"jobs_per_hour load cluster_gpus amplitude period peak_at"}},
    {"workload.generator.gpu_mix", {"name gpus weight duration"}},
    {"workload.generator.duration",
     {"fixed exponential lognormal weibull pareto mixture weight shortest longest"}},
    {"workload.generator.law", {"mean median sigma shape scale low high"}},
    {"workload.generator.estimate", {"uniform lognormal"}},
    {"requests", {"at job scale change stop delete"}},
    {"requests.change", {"priority wait_deadline run_deadline backoff_limit role replicas"}},
    {"requests.scale", {"role add remove set clear"}},
    {"profilings", {"at job rank values"}},
    {"faults",
     {"at after_event times every kind lasting for node nodes rack switch job rank role local "
      "exit_code blames factor up_for down_for devices notice direction added rate window point by "
      "arrow"}},
    {"faults.blames", {"rank role local"}},
    {"faults.after_event", {"event job phase rank role local node command fault count delay"}},
    {"faults.process",
     {"preset process kind of rate_per_1000_node_days shape repair lemons correlated mix "
      "exit_code"}},
    {"faults.lemons", {"share factor"}},
    {"faults.correlated", {"share group"}},
    {"faults.mix", {"process_restart node_swap fail_slow slow_factor slow_lasting"}},
    {"faults.repair", {"median sigma"}},
    {"failures", {"lanl rates"}},
    {"failures.lanl", {"file system from days scale_nodes"}},
    {"failures.rates", {"llama3 nodes lasting"}},
    {"relaunch", {"answer after count"}},
    {"expect",
     {"job phase replicas by within after restarts reschedules preemptions node_losses generation "
      "reason waited_less_than phases jobs_finished jobs_failed ignored says role_restarts "
      "job_restarts restarted not_restarted worker_restarts untouched lost_work_less_than "
      "incidents mttr_less_than recovered_within nodes_relaunched no_worker_restarted excluded "
      "spares_used epochs events_at_most sits"}},
    {"expect.sits", {"node devices hardware"}},
    {"expect.after", {"fault"}},
    {"expect.ignored", {"reason at_least"}},
    {"outputs", {"dir formats"}},
};

const SectionTable& table() {
  static const SectionTable table(kSections);
  return table;
}

}  // namespace

std::span<const Section> all_sections() { return table().all(); }

const Section& section(std::string_view name) { return table().find(name); }

}  // namespace orrery::scenarios
