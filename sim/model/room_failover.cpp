// Failover in the machine room: sub-masters, and nodes that are replaced.

#include <algorithm>

#include "sim/model/machine_room.hpp"

namespace orrery::sim {
namespace {

using scenarios::RoleArrow;

RoleArrow arrow_of(SubMasterOrder word) {
  switch (word) {
    case SubMasterOrder::Recover:
      return RoleArrow::Asked;
    case SubMasterOrder::State:
      return RoleArrow::Restored;
    case SubMasterOrder::Restarted:
      break;
  }
  return RoleArrow::Restarted;
}

}  // namespace

// --- sub-masters ---

void MachineRoom::obey(const TellSubMaster& order) {
  LiveJob* job = live(order.job);
  if (job == nullptr || nodes_[order.node.index()].mute) return;
  for (ModelWorker& worker : job->workers)
    if (worker.role == order.master && worker.incarnation == order.incarnation &&
        worker.node == order.node)
      return tell_sub_master(*job, worker, order.role, order.incident, order.word);
}

void MachineRoom::act(NodeId node, const PassToSubMaster& action) {
  LiveJob* job = live(action.worker.job);
  ModelWorker* worker =
      job == nullptr ? nullptr : job->find(action.worker.incarnation, action.worker.birth_rank);
  if (worker == nullptr || worker->node != node) return;
  tell_sub_master(*job, *worker, action.role, action.incident, action.word);
}

// It keeps no state, so each word is answered as it comes, also by one that has just started.
void MachineRoom::tell_sub_master(LiveJob& job,
                                  ModelWorker& master,
                                  RoleIndex role,
                                  std::uint32_t incident,
                                  SubMasterOrder word) {
  if (!master.alive || !master.ready || master.hung || master.stopping) return;
  if (dies_at(job, role, arrow_of(word)))
    return end_worker(job, master, WorkerFact::Exited, kKilled);
  auto led = std::find_if(
      job.led.begin(), job.led.end(), [&](const LedRole& l) { return l.role == role; });
  if (led == job.led.end()) led = job.led.insert(led, LedRole{role});
  led->incident = incident;
  led->started = word == SubMasterOrder::Restarted;
  job.hampered = true;
  pace(job, true);
  const LedRole asked = *led;
  RoleArrow left = RoleArrow::RestartAsked;
  switch (word) {
    case SubMasterOrder::Recover:
      return say(job, master, asked, SubMasterWord::AskState);
    case SubMasterOrder::State:
      say(job, master, asked, SubMasterWord::AskRestart);
      break;
    case SubMasterOrder::Restarted:
      if (dies_at(job, role, RoleArrow::Started))
        return end_worker(job, master, WorkerFact::Exited, kKilled);
      say(job, master, asked, SubMasterWord::Done);
      job.led.erase(led);
      left = RoleArrow::Done;
      break;
  }
  if (dies_at(job, role, left)) end_worker(job, master, WorkerFact::Exited, kKilled);
}

void MachineRoom::say(LiveJob& job,
                      const ModelWorker& master,
                      const LedRole& led,
                      SubMasterWord word) {
  if (nodes_[master.node.index()].mute) return;
  listener_.on_sub_master(
      master.node, master, SubMasterSaid{job.id, led.role, master.incarnation, led.incident, word});
}

// Whether a fault waits for this message of the role's failover; it strikes now.
bool MachineRoom::dies_at(const LiveJob& job, RoleIndex role, RoleArrow arrow) {
  const JobSpec& spec = *job.job.spec;
  const RoleIndex master = sub_master_of(spec, role);
  const auto found = std::find_if(armed_.begin(), armed_.end(), [&](const ArmedCrash& armed) {
    return armed.arrow == arrow && armed.job == spec.name &&
           (armed.role == spec.roles[role.index()].name ||
            (!master.is_none() && armed.role == spec.roles[master.index()].name));
  });
  if (found == armed_.end()) return false;
  if (--found->times == 0) armed_.erase(found);
  return true;
}

// The sub-master is gone before anybody hears that a worker of its role has failed.
void MachineRoom::die_at_report(LiveJob& job, const ModelWorker& failed) {
  const RoleIndex role = sub_master_of(*job.job.spec, failed.role);
  if (role.is_none() || job.over) return;
  const auto master =
      std::find_if(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
        return w.role == role && w.alive && w.ready && !w.stopping;
      });
  if (master == job.workers.end() || !dies_at(job, failed.role, RoleArrow::Report)) return;
  end_worker(job, *master, WorkerFact::Exited, kKilled);
}

// A sub-master that is told to end leads no more: whoever told it has taken over.
void MachineRoom::forget_lead(LiveJob& job, const ModelWorker& master) {
  if (!job.is_master(master)) return;
  const RoleIndex role = job.job.spec->roles[master.role.index()].master_of;
  std::erase_if(job.led, [&](const LedRole& led) { return led.role == role; });
}

// --- nodes that are replaced ---

void MachineRoom::obey(const RelaunchNodes& order) {
  if (scenario_.relaunch.answer == scenarios::RelaunchAnswer::TimesOut) return;
  ++named_futures_;
  future_.push(now_ + scenario_.relaunch.after,
               FutureKind::Relaunched,
               static_cast<std::uint32_t>(relaunches_.size()));
  relaunches_.push_back(order);
}

void MachineRoom::relaunched(const RelaunchNodes& order) {
  NodesRelaunched answer{order.job, order.incident, {}, {}};
  switch (scenario_.relaunch.answer) {
    case scenarios::RelaunchAnswer::Replaced:
      answer.replaced = order.nodes;
      break;
    case scenarios::RelaunchAnswer::Partial: {
      const auto count = static_cast<std::size_t>(scenario_.relaunch.count);
      answer.replaced.assign(
          order.nodes.begin(),
          order.nodes.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.nodes.size())));
      break;
    }
    case scenarios::RelaunchAnswer::Fails:
      answer.error = "the extension failed, as the scenario says";
      break;
    case scenarios::RelaunchAnswer::None:
    case scenarios::RelaunchAnswer::TimesOut:
      break;
  }
  const std::vector<NodeId> replaced = answer.replaced;
  listener_.on_outside(std::move(answer));
  for (const NodeId node : replaced) replace(node);
}

// A new machine in place of the old one, which takes along all that it ran.
void MachineRoom::replace(NodeId id) {
  Node& node = nodes_[id.index()];
  if (!node.down) {
    node.down = true;
    kill_all(id);
    listener_.on_node_down(id);
  }
  node.slow = 1;
  node_up(id);
}

}  // namespace orrery::sim
