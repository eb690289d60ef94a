#include "core/control/settle.hpp"

#include <algorithm>
#include <cstdint>

#include "core/control/nodes.hpp"
#include "core/job/phase.hpp"
#include "core/membership/advancing.hpp"
#include "core/membership/forming.hpp"
#include "core/membership/outdated.hpp"
#include "core/membership/target.hpp"
#include "core/recovery/ending.hpp"
#include "core/recovery/recovery.hpp"
#include "core/recovery/sub_master.hpp"

namespace orrery {

void settle(Step& step, JobState& job) {
  if (is_final(job.row.phase)) return;
  if (all_required_succeeded(job)) {
    finish(step, job, JobPhase::Succeeded, Reason::RequiredSucceeded);
    return;
  }
  if (job.row.phase == JobPhase::Unknown) return;
  if (outgrows_recovery(job)) {
    drop_next(step, job);
    return settle_failures(step, job);
  }
  if (job.after_drain != AfterDrain::Nothing) {
    join_recovery(step, job);
    leave_unusable_nodes(step, job);
    advance(step, job);
    return;
  }
  if (job.failover->led != LedRecovery::None && settle_led_recovery(step, job)) return;
  if (awaits_answer(job)) return;
  if (leave_leaving_node(step, job)) return;
  if (restart_outdated(step, job)) return;
  if (job.ready == job.workers.size()) {
    if (job.row.phase == JobPhase::Starting) all_are_up(step, job, Reason::AllReady);
    return;
  }
  settle_failures(step, job);
}

void settle_woken(Step& step) {
  for (std::size_t i = 0; i < step.woken.size(); ++i) {
    JobState* job = step.state.find(step.woken[i]);
    if (job == nullptr || (i > 0 && step.woken[i] == step.woken[i - 1] && job->blocked == 0))
      continue;
    if (job->blocked > 0)
      job->blocked = static_cast<std::uint32_t>(
          std::count_if(job->next.begin(), job->next.end(), [&](const Worker& worker) {
            return worker.state == WorkerState::Claimed &&
                   step.state.ledger.lease(worker.lease).stage == LeaseStage::Claimed;
          }));
    settle(step, *job);
    // A request that came in the middle of a change has only set its target so far.
    if (!job->targets->empty()) meet_target(step, *job);
  }
  step.woken.clear();
}

}  // namespace orrery
