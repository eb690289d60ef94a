#include "sim/model/pollux_progress.hpp"

#include <vector>

namespace orrery::sim {

void PolluxProgress::schedule() {
  if (scheduled_) return;
  const std::int64_t tick = cluster_.scenario.timing.tick.ns;
  cluster_.future.push(Instant{(cluster_.now.ns / tick + 1) * tick}, FutureKind::Tick, 0);
  scheduled_ = true;
}

void PolluxProgress::place(LiveJob& job) {
  if (job.job.application == nullptr) return;
  if (!job.pollux) job.pollux.emplace(*job.job.application, job.job.spec->batch_size, cluster_.now);
  job.pollux->step(cluster_.now - job.pollux->now());
  std::vector<int> gpus_per_node;
  NodeId last;
  for (const ModelWorker& worker : job.workers) {
    if (worker.stopping) continue;
    if (worker.node != last) gpus_per_node.push_back(0);
    last = worker.node;
    gpus_per_node.back() += job.job.spec->roles[0].bundle.devices;
  }
  if (!job.pollux->reallocate(gpus_per_node))
    cluster_.warnings.push_back(job.job.spec->name +
                                ": its profile does not reach this placement, so it makes no "
                                "progress; use nodes of at most 4 devices");
  job.running = true;
  schedule();
}

void PolluxProgress::release(LiveJob& job) {
  if (!job.pollux) return;
  job.pollux->step(cluster_.now - job.pollux->now());
  if (!job.pollux->placement().empty()) (void)job.pollux->reallocate({});
}

std::optional<Instant> PolluxProgress::advance(LiveJob& job) {
  PolluxJob& model = *job.pollux;
  const int epoch = model.epoch();
  model.step(cluster_.now - model.now());
  if (model.completed_at()) return model.completed_at();
  if (model.epoch() == epoch) return std::nullopt;
  ProgressReported progress{job.id, job.generation, model.progress(), model.rate()};
  progress.epoch = model.epoch();
  cluster_.listener.on_progress(job.spokesman(), progress);
  return std::nullopt;
}

}  // namespace orrery::sim
