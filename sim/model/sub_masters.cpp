#include "sim/model/sub_masters.hpp"

#include <algorithm>

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

SubMasters::Outcome SubMasters::receive(LiveJob& job,
                                        const ModelWorker& master,
                                        RoleIndex role,
                                        std::uint32_t incident,
                                        SubMasterOrder word) {
  if (!master.alive || !master.ready || master.hung || master.stopping) return Outcome::Lives;
  if (dies_at(job, role, arrow_of(word))) return Outcome::Dies;
  auto led = std::find_if(
      job.led.begin(), job.led.end(), [&](const LedRole& l) { return l.role == role; });
  if (led == job.led.end()) led = job.led.insert(led, LedRole{role});
  led->incident = incident;
  led->started = word == SubMasterOrder::Restarted;
  job.hampered = true;
  progress_.pace(job, true);
  const LedRole asked = *led;
  RoleArrow left = RoleArrow::RestartAsked;
  switch (word) {
    case SubMasterOrder::Recover:
      say(job, master, asked, SubMasterMessage::AskState);
      return Outcome::Lives;
    case SubMasterOrder::State:
      say(job, master, asked, SubMasterMessage::AskRestart);
      break;
    case SubMasterOrder::Restarted:
      if (dies_at(job, role, RoleArrow::Started)) return Outcome::Dies;
      say(job, master, asked, SubMasterMessage::Done);
      job.led.erase(led);
      left = RoleArrow::Done;
      break;
  }
  return dies_at(job, role, left) ? Outcome::Dies : Outcome::Lives;
}

void SubMasters::say(const LiveJob& job,
                     const ModelWorker& master,
                     const LedRole& led,
                     SubMasterMessage word) {
  if (cluster_.nodes[master.node].mute) return;
  cluster_.listener.on_sub_master(
      master.node, master, SubMasterSaid{job.id, led.role, master.incarnation, led.incident, word});
}

void SubMasters::arm(const scenarios::Fault& fault) {
  armed_.push_back({fault.job, fault.worker.role, fault.arrow, fault.times});
}

// Whether a fault waits for this message of the role's failover; it strikes now.
bool SubMasters::dies_at(const LiveJob& job, RoleIndex role, RoleArrow arrow) {
  if (armed_.empty()) return false;
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

ModelWorker* SubMasters::dying_at_report(LiveJob& job, const ModelWorker& failed) {
  if (armed_.empty()) return nullptr;
  const RoleIndex role = sub_master_of(*job.job.spec, failed.role);
  if (role.is_none() || job.over) return nullptr;
  const auto master =
      std::find_if(job.workers.begin(), job.workers.end(), [&](const ModelWorker& w) {
        return w.role == role && w.alive && w.ready && !w.stopping;
      });
  if (master == job.workers.end() || !dies_at(job, failed.role, RoleArrow::Report)) return nullptr;
  return &*master;
}

void SubMasters::forget_lead(LiveJob& job, const ModelWorker& master) {
  if (!job.is_master(master)) return;
  const RoleIndex role = job.job.spec->roles[master.role.index()].master_of;
  std::erase_if(job.led, [&](const LedRole& led) { return led.role == role; });
}

}  // namespace orrery::sim
