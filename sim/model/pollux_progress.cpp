#include "sim/model/pollux_progress.hpp"

#include <memory>
#include <string>
#include <vector>

namespace orrery::sim {

namespace {

Instant whole_second(Instant at) { return at - Duration{at.ns % Duration::seconds(1).ns}; }

/// "5 devices on 2 nodes (4+1)".
std::string placement_text(const std::vector<int>& gpus_per_node) {
  int sum = 0;
  std::string parts;
  for (const int gpus : gpus_per_node) {
    sum += gpus;
    parts += (parts.empty() ? "" : "+") + std::to_string(gpus);
  }
  return std::to_string(sum) + " devices on " + std::to_string(gpus_per_node.size()) + " nodes (" +
         parts + ")";
}

}  // namespace

void PolluxProgress::schedule() {
  if (scheduled_) return;
  const std::int64_t tick = cluster_.scenario.timing.tick.ns;
  cluster_.future.push(Instant{(cluster_.now.ns / tick + 1) * tick}, FutureKind::Tick, 0);
  scheduled_ = true;
}

void PolluxProgress::catch_up(PolluxJob& model) const {
  model.step(whole_second(cluster_.now) - model.now());
}

// The job's application as it is on the slowest device that it holds; null where all are alike.
const PolluxApplication* PolluxProgress::slowest_on(const LiveJob& job,
                                                    const std::vector<NodeId>& nodes,
                                                    const std::vector<int>& gpus_per_node) const {
  const DeviceProfiles* by_model = job.job.application->by_model;
  if (by_model == nullptr) return nullptr;
  const PolluxApplication* slowest = nullptr;
  double longest_s = 0;
  for (const NodeId node : nodes) {
    const PolluxApplication* here =
        find_application(*by_model, cluster_.nodes.device_model(node), *job.job.spec->profile);
    if (here == nullptr || here == slowest) continue;
    const auto time = here->step_time(gpus_per_node, here->limits().atomic_min);
    const double step_s = time ? time->step_s : 0;
    if (slowest != nullptr && step_s <= longest_s) continue;
    slowest = here;
    longest_s = step_s;
  }
  return slowest;
}

void PolluxProgress::place(LiveJob& job) {
  if (job.job.application == nullptr) return;
  if (!job.pollux)
    job.pollux = std::make_unique<PolluxJob>(
        *job.job.application->first, job.job.spec->batch_size, whole_second(cluster_.now));
  catch_up(*job.pollux);
  std::vector<int> gpus_per_node;
  std::vector<NodeId> nodes;
  for (const ModelWorker& worker : job.workers) {
    if (worker.stopping) continue;
    if (nodes.empty() || worker.node != nodes.back()) {
      gpus_per_node.push_back(0);
      nodes.push_back(worker.node);
    }
    gpus_per_node.back() += job.job.spec->roles[0].bundle.devices;
  }
  if (const PolluxApplication* slowest = slowest_on(job, nodes, gpus_per_node))
    job.pollux->measured_as(*slowest);
  const Duration delay = cluster_.scenario.timing.restart_of(*job.job.spec->profile);
  if (!job.pollux->reallocate(gpus_per_node, delay))
    cluster_.warn(job.job.spec->name + ": profile " + job.job.application->first->name() +
                  " has no time for " + placement_text(gpus_per_node) +
                  ", so it makes no progress there; add it to its placements.csv, or give the job "
                  "other nodes");
  job.running = true;
  schedule();
}

void PolluxProgress::release(LiveJob& job) {
  if (!job.pollux) return;
  catch_up(*job.pollux);
  if (!job.pollux->placement().empty()) (void)job.pollux->reallocate({});
}

// What the workers measure goes out with the first of them, where it has changed.
void PolluxProgress::report(LiveJob& job) {
  const std::optional<TrainingReport> report = job.pollux->take_report();
  if (!report) return;
  BatchLimits limits = job.pollux->application().limits();
  // A batch that nobody may change is the only one: of such a job speed alone counts.
  if (job.job.batch_is_fixed) limits.initial_total = limits.total_max = job.pollux->total_batch();
  const ThroughputObservation& observed = report->observed;
  const int total = report->split.total(observed.spread.replicas);
  ProfilingChanged measured{job.id, job.generation, Rank{0}, {}};
  measured.values = {
      {"step_time_s", observed.step_s},
      {"compute_time_s", observed.compute_s},
      {"batch_size", static_cast<double>(total)},
      {"accum_steps", static_cast<double>(report->split.accumulation_steps)},
      {"grad_sqr", report->stats.sqr},
      {"grad_var", report->stats.var},
      {"batch_size_initial", static_cast<double>(limits.initial_total)},
      {"batch_size_max", static_cast<double>(limits.total_max)},
      {"local_batch_min", static_cast<double>(limits.atomic_min)},
      {"local_batch_max", static_cast<double>(limits.atomic_max)},
  };
  cluster_.listener.on_outside(std::move(measured));
}

std::optional<Instant> PolluxProgress::advance(LiveJob& job) {
  PolluxJob& model = *job.pollux;
  const int epoch = model.epoch();
  catch_up(model);
  if (model.completed_at()) return model.completed_at();
  if (job.job.reports_training) report(job);
  if (model.epoch() == epoch) return std::nullopt;
  ProgressReported progress{job.id, job.generation, model.progress(), model.rate()};
  progress.epoch = model.epoch();
  cluster_.listener.on_progress(job.spokesman(), progress);
  return std::nullopt;
}

}  // namespace orrery::sim
