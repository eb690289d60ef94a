// Recovery of a role that is led by its sub-master, a worker process that keeps no state.
//
//   worker's failure -> [Asked] Recover -> AskState -> State -> AskRestart
//     -> [Restarting] all workers of the role start anew -> all are ready
//     -> [Restarted] Restarted -> Done -> Running
//
// A sub-master that dies anywhere on the way is started again and told where things stand.
#pragma once

#include "core/record/event.hpp"
#include "core/state/step.hpp"

namespace orrery {

/// A worker of a role with a sub-master failed, and was charged: the sub-master is asked to lead
/// the recovery of its role. The job is Restarting until it asks for the restart.
void begin_led_recovery(Step& step, JobState& job, RoleIndex role, Reason reason);

/// Looks after the sub-master of a recovery that is led: starts it again where it is gone, tells it
/// where things stand where it does not know. True: there is nothing else to settle.
bool settle_led_recovery(Step& step, JobState& job);

/// The sub-master that leads is gone: a membership in which only it is new. Other failed workers
/// stay as they are, and are replaced when it asks for that.
void restart_sub_master(Step& step, JobState& job);

/// All workers are up: Running, or the sub-master's turn to start its role.
void all_are_up(Step& step, JobState& job, Reason reason);

/// The sub-master has not led on in time, which counts as its failure: it is started again. Where
/// it has not asked for it yet, the controller restarts the role by itself.
void give_up_sub_master(Step& step, JobState& job);

/// A message of a sub-master: applied, or ignored for a named reason. The job that is to be settled
/// because its led recovery is over; else null.
JobState* hear_sub_master(Step& step, const SubMasterSaid& event);

}  // namespace orrery
