// What goes wrong with nodes in the machine room.

#include <algorithm>

#include "core/base/math.hpp"
#include "sim/model/machine_room.hpp"

namespace orrery::sim {
namespace {

// Gamma for arguments from 1 on, by Lanczos' approximation (g = 7, 9 terms; Numerical Recipes 6.1):
// relative error below 1e-13, from the core's own functions so that every processor agrees.
double gamma_from_one(double x) {
  static constexpr double kTerms[] = {0.99999999999980993,
                                      676.5203681218851,
                                      -1259.1392167224028,
                                      771.32342877765313,
                                      -176.61502916214059,
                                      12.507343278686905,
                                      -0.13857109526572012,
                                      9.9843695780195716e-6,
                                      1.5056327351493116e-7};
  x -= 1;
  double sum = kTerms[0];
  for (int i = 1; i < 9; ++i) sum += kTerms[i] / (x + i);
  const double t = x + 7.5;
  return 2.5066282746310002 * math::exp((x + 0.5) * math::log(t) - t) * sum;
}

}  // namespace

void MachineRoom::next_random_fault(NodeId node) {
  for (std::size_t p = 0; p < scenario_.fault_processes.size(); ++p) {
    const scenarios::FaultProcess& process = scenario_.fault_processes[p];
    Random& random = node_faults_[p * nodes_.size() + node.index()];
    const double mean_s = 1000.0 * 86400.0 / process.rate_per_1000_node_days;
    const double wait_s =
        process.law == scenarios::FaultLaw::Exponential
            ? random.exponential(mean_s)
            : random.weibull(process.shape, mean_s / gamma_from_one(1 + 1 / process.shape));
    future_.push(now_ + Duration::from_seconds(wait_s),
                 FutureKind::NodeDown,
                 node.value,
                 0,
                 static_cast<std::uint32_t>(p));
  }
}

void MachineRoom::random_fault(NodeId node, std::uint32_t process_index) {
  const scenarios::FaultProcess& process = scenario_.fault_processes[process_index];
  Random& random = node_faults_[process_index * nodes_.size() + node.index()];
  const double median_s = process.repair_median.in_seconds();
  const double repair_s = random.lognormal(math::log(median_s), process.repair_sigma);
  node_down(node, Duration::from_seconds(repair_s));
}

// The node dies with all it runs.
void MachineRoom::node_down(NodeId id, Duration lasting) {
  Node& node = nodes_[id.index()];
  if (node.down) return;
  node.down = true;
  node.up_at = now_ + lasting;
  kill_all(id);
  if (!node.up_at.is_never()) {
    ++comebacks_;
    future_.push(node.up_at, FutureKind::NodeUp, id.value);
  }
  listener_.on_node_down(id);
}

void MachineRoom::kill_all(NodeId node) {
  const std::vector<JobId> placed = placed_;
  for (const JobId id : placed) {
    LiveJob& job = *live(id);
    bool hit = false;
    for (ModelWorker& worker : job.workers) {
      if (worker.node != node || !worker.alive) continue;
      worker.alive = worker.ready = false;
      hit = hit || (worker.generation == job.generation && !job.is_master(worker));
    }
    if (!hit || job.pollux) continue;
    lose_progress(job);
    if (job.job.spec->recovery != RecoveryScope::Worker) job.running = false;
    pace(job, false);
  }
}

void MachineRoom::bury(NodeId node) {
  const std::vector<JobId> placed = placed_;
  for (const JobId id : placed) {
    LiveJob& job = *live(id);
    std::erase_if(job.workers, [&](const ModelWorker& w) { return w.node == node && !w.alive; });
    if (job.workers.empty()) unplace(job);
    drop_if_over(job);
  }
}

// A repair is over, unless the node came back earlier or broke again since.
void MachineRoom::come_back(NodeId id) {
  --comebacks_;
  if (nodes_[id.index()].down && nodes_[id.index()].up_at <= now_) node_up(id);
}

void MachineRoom::node_up(NodeId id) {
  Node& node = nodes_[id.index()];
  if (!node.down) return;
  node.down = false;
  listener_.on_node_up(id);
  next_random_fault(id);
}

}  // namespace orrery::sim
