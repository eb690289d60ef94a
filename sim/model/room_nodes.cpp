// What goes wrong with nodes in the machine room.

#include <algorithm>
#include <utility>

#include "sim/model/machine_room.hpp"

namespace orrery::sim {
namespace {

constexpr std::int32_t kAborted = 134;  // By SIGABRT: what a process does whose device is gone.

}  // namespace

void MachineRoom::next_random_fault(std::size_t process, NodeId node, Instant from) {
  future_.push(processes_.next(process, node, from),
               FutureKind::NodeDown,
               node.value,
               0,
               static_cast<std::uint32_t>(process));
}

void MachineRoom::random_fault(NodeId node, std::size_t process) {
  const FaultProcesses::Strike strike = processes_.strike(process, node, now_);
  next_random_fault(process, node, strike.resumes);
  if (strike.pick) return workers_of_nodes_fault(strike.fault, strike.pick);
  fault(strike.fault);
}

void MachineRoom::node_fault(NodeId node, const scenarios::Fault& fault) {
  switch (fault.kind) {
    case scenarios::FaultKind::Down:
      return node_down(node, fault.lasting);
    case scenarios::FaultKind::Up:
      return node_up(node);
    case scenarios::FaultKind::DeviceLost:
      return lose_devices(node, fault.devices, fault.lasting);
    case scenarios::FaultKind::PreemptionNotice: {
      if (nodes_[node.index()].down) return;
      const Instant until = now_ + fault.notice;
      ++named_futures_;
      future_.push(until,
                   FutureKind::Departure,
                   node.value,
                   0,
                   static_cast<std::uint32_t>(departures_.size()));
      departures_.push_back({fault.lasting});
      return listener_.on_node_leaving(NodeLeaving{node, until});
    }
    default: {
      const bool excluded = fault.kind == scenarios::FaultKind::Cordon;
      if (excluded && !fault.lasting.is_forever()) {
        ++comebacks_;
        future_.push(now_ + fault.lasting, FutureKind::LetIn, node.value);
      }
      return listener_.on_outside(ExclusionRequested{0, node, excluded});
    }
  }
}

// The node dies with all it runs. Where it is down already, it may stay so for longer.
void MachineRoom::node_down(NodeId id, Duration lasting) {
  Node& node = nodes_[id.index()];
  const Instant up_at = now_ + lasting;
  if (node.down && up_at <= node.up_at) return;
  node.up_at = up_at;
  if (!up_at.is_never()) {
    ++comebacks_;
    future_.push(up_at, FutureKind::NodeUp, id.value);
  }
  if (node.down) return;
  node.down = true;
  kill_all(id);
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
  if (nodes_[id.index()].up_at <= now_) node_up(id);
}

// Whatever was wrong with the machine has been mended.
void MachineRoom::node_up(NodeId id) {
  Node& node = nodes_[id.index()];
  if (!node.down) return;
  node.down = false;
  const bool devices_lost = std::exchange(node.lost_devices, 0) != 0;
  node.whole_at = now_;
  listener_.on_node_up(id);
  if (devices_lost) listener_.on_devices_back(id);
}

// The loss is noticed before the workers end of it.
void MachineRoom::lose_devices(NodeId id, std::uint64_t devices, Duration lasting) {
  Node& node = nodes_[id.index()];
  if (node.down || devices == 0) return;
  node.lost_devices |= devices;
  node.whole_at = std::max(node.whole_at, now_ + lasting);
  if (!node.whole_at.is_never()) {
    ++comebacks_;
    future_.push(node.whole_at, FutureKind::DevicesBack, id.value);
  }
  listener_.on_devices_lost(DevicesLost{id, node.lost_devices});
  const std::vector<JobId> placed = placed_;
  for (const JobId job_id : placed) {
    bool again = true;
    while (again) {  // An end may take the job with it.
      again = false;
      LiveJob* job = live(job_id);
      if (job == nullptr) break;
      for (const ModelWorker& worker : job->workers) {
        if (worker.node != id || !worker.alive || (worker.devices & devices) == 0) continue;
        end_worker(*job, worker, WorkerFact::Exited, kAborted);
        again = true;
        break;
      }
    }
  }
}

void MachineRoom::devices_back(NodeId id) {
  --comebacks_;
  Node& node = nodes_[id.index()];
  if (node.lost_devices == 0 || node.whole_at > now_) return;
  node.lost_devices = 0;
  listener_.on_devices_back(id);
}

void MachineRoom::slow_node(NodeId id, const scenarios::Fault& fault) {
  Node& node = nodes_[id.index()];
  node.slow = std::max(node.slow, fault.factor);
  node.quick_at = std::max(node.quick_at, now_ + fault.lasting);
  if (!node.quick_at.is_never()) future_.push(node.quick_at, FutureKind::NodeQuick, id.value);
  pace_all_on(id);
}

void MachineRoom::pace_all_on(NodeId node) {
  for (const JobId id : placed_) {
    LiveJob& job = *live(id);
    const bool here = std::any_of(job.workers.begin(),
                                  job.workers.end(),
                                  [&](const ModelWorker& w) { return w.node == node && w.alive; });
    if (!here) continue;
    job.hampered = true;
    pace(job, true);
  }
}

}  // namespace orrery::sim
