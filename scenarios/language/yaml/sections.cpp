// Every key of the language, by section. docs/scenario_format.md has one table per section.
#include <array>

#include "core/base/invariant.hpp"
#include "scenarios/language/yaml/reading.hpp"

namespace orrery::scenarios {
namespace {

using Keys = std::string_view;

constexpr Keys kScenario[]{"name",     "description", "seed",       "world",      "fidelity",
                           "cluster",  "quotas",      "policy",     "planner",    "until",
                           "timing",   "jobs",        "controller", "workload",   "faults",
                           "requests", "expect",      "outputs",    "profilings", "failures",
                           "relaunch", "must_fail",   "invariants", "control",    "jitter"};
constexpr Keys kCluster[]{"nodes",
                          "devices_per_node",
                          "gpus_per_node",
                          "device_model",
                          "gpu",
                          "cpu",
                          "memory",
                          "nodes_per_rack",
                          "nodes_per_switch",
                          "nodes_per_nvlink_domain",
                          "vendor",
                          "hardware",
                          "spares",
                          "groups",
                          "devices",
                          "network"};
constexpr Keys kDeviceModel[]{"compute", "memory", "bandwidth", "speed"};
constexpr Keys kNetwork[]{"topology",
                          "nic_bandwidth",
                          "latency",
                          "nodes_per_leaf",
                          "oversubscription",
                          "link_bandwidth",
                          "torus",
                          "dragonfly",
                          "platform",
                          "device_bandwidth",
                          "storage_bandwidth",
                          "wiring",
                          "stage"};
constexpr Keys kDragonfly[]{"groups", "chassis", "routers", "nodes_per_router"};
constexpr Keys kNodeGroup[]{"name",
                            "nodes",
                            "devices_per_node",
                            "gpus_per_node",
                            "device_model",
                            "gpu",
                            "cpu",
                            "memory",
                            "nodes_per_rack",
                            "nodes_per_switch",
                            "nodes_per_nvlink_domain",
                            "vendor",
                            "hardware",
                            "spares"};
constexpr Keys kPlanner[]{"latency"};
constexpr Keys kJitter[]{"timers", "batches", "planner", "clocks_ppm"};
constexpr Keys kController[]{"node_lease",
                             "fence_margin",
                             "takeover_grace",
                             "retain_finished",
                             "retain_finished_max",
                             "preemption_grace",
                             "lemon_incidents",
                             "lemon_window",
                             "exclusion"};
constexpr Keys kTiming[]{"mode",
                         "start",
                         "stop",
                         "restore",
                         "rescale",
                         "checkpoint_interval",
                         "checkpoint_cost",
                         "tick",
                         "restart"};
constexpr Keys kJob[]{"name",
                      "at",
                      "group",
                      "priority",
                      "preemptible",
                      "rescale",
                      "recovery",
                      "backoff_limit",
                      "backoff_base",
                      "backoff_max",
                      "start_deadline",
                      "drain_grace",
                      "unknown_deadline",
                      "wait_deadline",
                      "run_deadline",
                      "failover",
                      "clean_pods",
                      "profile",
                      "batch_size",
                      "estimate",
                      "roles",
                      "manifest",
                      "work",
                      "workers",
                      "ready_after",
                      "replicas",
                      "type",
                      "completion",
                      "devices",
                      "gpus",
                      "device_model",
                      "gpu",
                      "cpu",
                      "memory",
                      "command",
                      "env",
                      "volumes",
                      "sub_master",
                      "placement",
                      "placements",
                      "virtual_cluster",
                      "virtual_clusters",
                      "take_turns",
                      "working_directory",
                      "image",
                      "isolation",
                      "labels"};
constexpr Keys kRole[]{
    "replicas",   "type",      "completion", "devices",         "gpus",    "device_model",
    "gpu",        "cpu",       "memory",     "command",         "env",     "volumes",
    "sub_master", "placement", "placements", "virtual_cluster", "workers", "working_directory",
    "image",      "isolation"};
constexpr Keys kIsolation[]{"key", "prepare", "interpreter", "deadline"};
constexpr Keys kSubMaster[]{"command", "env", "volumes", "working_directory", "image", "isolation"};
constexpr Keys kPlacement[]{"node_group", "placement"};
constexpr Keys kWorkerGroup[]{"virtual_cluster", "per_node", "tied"};
constexpr Keys kTied[]{"node", "bundles"};
constexpr Keys kVirtualCluster[]{"nodes",
                                 "bundles_per_node",
                                 "devices_per_bundle",
                                 "device_model",
                                 "gpu",
                                 "cpu",
                                 "memory",
                                 "unified",
                                 "strategy",
                                 "max_worker_groups",
                                 "segment_by",
                                 "segment_size"};
constexpr Keys kFailover[]{"mode",
                           "trigger",
                           "response",
                           "worker_failures_max",
                           "worker_node_failures_max",
                           "role_restarts_max",
                           "job_restarts_max",
                           "node_losses_max",
                           "preemptions_max",
                           "nodes_relaunched_max",
                           "reset_window",
                           "jitter",
                           "relaunch_group",
                           "relaunch_timeout",
                           "relaunch_group_timeout",
                           "sub_master_timeout",
                           "hang_after",
                           "hang_restarts",
                           "straggler_factor",
                           "straggler_moves"};
constexpr Keys kReplicas[]{"min", "max"};
constexpr Keys kWork[]{"duration",
                       "units",
                       "throughput",
                       "flops_per_unit",
                       "efficiency",
                       "scaling",
                       "step",
                       "loop",
                       "checkpoint"};
constexpr Keys kStep[]{"units",
                       "gradient",
                       "all_reduce",
                       "overlap",
                       "tensor_parallel",
                       "tensor",
                       "pipeline_parallel",
                       "activation",
                       "microbatches"};
constexpr Keys kLoop[]{"generate", "reward", "train", "weights"};
constexpr Keys kGenerate[]{"role", "sequences", "tokens_per_second", "concurrent", "length"};
constexpr Keys kLength[]{"median", "sigma", "max"};
constexpr Keys kReward[]{"role", "time"};
constexpr Keys kTrain[]{"role", "time", "gradient", "overlap"};
constexpr Keys kCheckpoint[]{"size", "interval", "blocking"};
constexpr Keys kScaling[]{"amdahl", "table"};
constexpr Keys kAmdahl[]{"serial"};
constexpr Keys kWorker[]{"rank", "role", "local", "kind", "after", "exit", "times"};
constexpr Keys kManifest[]{"apiVersion", "kind", "metadata", "spec", "status"};
constexpr Keys kManifestSpec[]{"group",
                               "priority",
                               "cleanPodPolicy",
                               "preemptible",
                               "minReplicas",
                               "maxReplicas",
                               "engineFields",
                               "template",
                               "backoffLimit",
                               "volumes",
                               "tasks"};
constexpr Keys kEngineFields[]{"topology", "parallelWorkers"};
constexpr Keys kManifestTask[]{"name", "type", "replicas", "template"};
constexpr Keys kRequest[]{"at", "job", "scale", "stop"};
constexpr Keys kScale[]{"role", "add", "remove", "set", "clear"};
constexpr Keys kProfiling[]{"at", "job", "rank", "values"};
constexpr Keys kFault[]{"at",       "after_event", "times",  "every",     "kind",   "lasting",
                        "for",      "node",        "nodes",  "rack",      "switch", "job",
                        "rank",     "role",        "local",  "exit_code", "factor", "up_for",
                        "down_for", "devices",     "notice", "direction", "added",  "rate",
                        "window",   "point",       "by",     "arrow"};
constexpr Keys kAfterEvent[]{
    "event", "job", "phase", "rank", "role", "local", "node", "command", "fault", "count", "delay"};
constexpr Keys kFaultProcess[]{"preset",
                               "process",
                               "kind",
                               "of",
                               "rate_per_1000_node_days",
                               "shape",
                               "repair",
                               "lemons",
                               "correlated",
                               "mix",
                               "exit_code"};
constexpr Keys kLemons[]{"share", "factor"};
constexpr Keys kCorrelated[]{"share", "group"};
constexpr Keys kMix[]{"process_restart", "node_swap", "fail_slow", "slow_factor", "slow_lasting"};
constexpr Keys kFailures[]{"lanl", "rates"};
constexpr Keys kLanl[]{"file", "system", "from", "days", "scale_nodes"};
constexpr Keys kRates[]{"llama3", "nodes", "lasting"};
constexpr Keys kRelaunch[]{"answer", "after", "count"};
constexpr Keys kRepair[]{"median", "sigma"};
constexpr Keys kExpect[]{"job",
                         "phase",
                         "replicas",
                         "by",
                         "within",
                         "after",
                         "restarts",
                         "reschedules",
                         "preemptions",
                         "node_losses",
                         "generation",
                         "reason",
                         "waited_less_than",
                         "phases",
                         "jobs_finished",
                         "jobs_failed",
                         "ignored",
                         "says",
                         "role_restarts",
                         "job_restarts",
                         "restarted",
                         "not_restarted",
                         "worker_restarts",
                         "untouched",
                         "lost_work_less_than",
                         "incidents",
                         "mttr_less_than",
                         "recovered_within",
                         "nodes_relaunched",
                         "no_worker_restarted",
                         "excluded",
                         "spares_used",
                         "epochs",
                         "events_at_most",
                         "sits"};
constexpr Keys kSits[]{"node", "devices", "hardware"};
constexpr Keys kAfter[]{"fault"};
constexpr Keys kIgnored[]{"reason", "at_least"};
constexpr Keys kOutputs[]{"dir", "formats"};
constexpr Keys kGenerator[]{"preset",
                            "jobs",
                            "seed",
                            "arrivals",
                            "duration",
                            "gpu_mix",
                            "preemptible_share",
                            "elastic_share",
                            "elastic_shrink",
                            "elastic_grow",
                            "step",
                            "checkpoint",
                            "estimate",
                            "users",
                            "user_skew"};
constexpr Keys kArrivals[]{
    "jobs_per_hour", "load", "cluster_gpus", "amplitude", "period", "peak_at"};
constexpr Keys kGpuMix[]{"name", "gpus", "weight", "duration"};
constexpr Keys kDuration[]{"fixed",
                           "exponential",
                           "lognormal",
                           "weibull",
                           "pareto",
                           "mixture",
                           "weight",
                           "shortest",
                           "longest"};
constexpr Keys kLaw[]{"mean", "median", "sigma", "shape", "scale", "low", "high"};
constexpr Keys kEstimateError[]{"uniform", "lognormal"};
constexpr Keys kWorkload[]{"format",
                           "file",
                           "profiles",
                           "limit",
                           "duplicates",
                           "zero_gpus",
                           "censored",
                           "estimates",
                           "preemptible",
                           "host_resources",
                           "throughputs",
                           "speeds_of",
                           "generator",
                           "batsim",
                           "elastisim"};
constexpr Keys kBatsim[]{"file", "events", "strict", "host_flops", "limit"};
constexpr Keys kElastisim[]{"file", "root", "host_flops", "gpu_flops", "burst_buffer", "limit"};

constexpr std::array kSections{
    Section{"scenario", kScenario},
    Section{"cluster", kCluster},
    Section{"cluster.groups", kNodeGroup},
    Section{"cluster.devices", kDeviceModel},
    Section{"cluster.network", kNetwork},
    Section{"cluster.network.dragonfly", kDragonfly},
    Section{"planner", kPlanner},
    Section{"jitter", kJitter},
    Section{"controller", kController},
    Section{"timing", kTiming},
    Section{"jobs", kJob},
    Section{"jobs.roles", kRole},
    Section{"jobs.roles.isolation", kIsolation},
    Section{"jobs.roles.sub_master", kSubMaster},
    Section{"jobs.roles.placement", kPlacement},
    Section{"jobs.roles.workers", kWorkerGroup},
    Section{"jobs.roles.workers.tied", kTied},
    Section{"jobs.virtual_clusters", kVirtualCluster},
    Section{"jobs.failover", kFailover},
    Section{"jobs.replicas", kReplicas},
    Section{"jobs.work", kWork},
    Section{"jobs.work.scaling", kScaling},
    Section{"jobs.work.scaling.amdahl", kAmdahl},
    Section{"jobs.work.step", kStep},
    Section{"jobs.work.loop", kLoop},
    Section{"jobs.work.loop.generate", kGenerate},
    Section{"jobs.work.loop.generate.length", kLength},
    Section{"jobs.work.loop.reward", kReward},
    Section{"jobs.work.loop.train", kTrain},
    Section{"jobs.work.checkpoint", kCheckpoint},
    Section{"jobs.workers", kWorker},
    Section{"jobs.manifest", kManifest},
    Section{"jobs.manifest.spec", kManifestSpec},
    Section{"jobs.manifest.spec.engineFields", kEngineFields},
    Section{"jobs.manifest.spec.tasks", kManifestTask},
    Section{"workload", kWorkload},
    Section{"workload.batsim", kBatsim},
    Section{"workload.elastisim", kElastisim},
    Section{"workload.generator", kGenerator},
    Section{"workload.generator.arrivals", kArrivals},
    Section{"workload.generator.gpu_mix", kGpuMix},
    Section{"workload.generator.duration", kDuration},
    Section{"workload.generator.law", kLaw},
    Section{"workload.generator.estimate", kEstimateError},
    Section{"requests", kRequest},
    Section{"requests.scale", kScale},
    Section{"profilings", kProfiling},
    Section{"faults", kFault},
    Section{"faults.after_event", kAfterEvent},
    Section{"faults.process", kFaultProcess},
    Section{"faults.lemons", kLemons},
    Section{"faults.correlated", kCorrelated},
    Section{"faults.mix", kMix},
    Section{"faults.repair", kRepair},
    Section{"failures", kFailures},
    Section{"failures.lanl", kLanl},
    Section{"failures.rates", kRates},
    Section{"relaunch", kRelaunch},
    Section{"expect", kExpect},
    Section{"expect.sits", kSits},
    Section{"expect.after", kAfter},
    Section{"expect.ignored", kIgnored},
    Section{"outputs", kOutputs},
};

}  // namespace

std::span<const Section> all_sections() { return kSections; }

const Section& section(std::string_view name) {
  for (const Section& candidate : kSections)
    if (candidate.name == name) return candidate;
  invariant(false, "a section that is read is in the table");
  return kSections.front();
}

}  // namespace orrery::scenarios
