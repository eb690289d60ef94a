// One step of the controller: the state, the commands so far, and the time.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// What one step works on. Lives for the step; `state` and `out` are the controller's.
struct Step {
  State& state;
  Commands& out;
  Instant at;
  Instant occurred_at;
  /// Jobs whose claims became held, or whose workers were ordered to start: to be settled once the
  /// event itself is applied. In order, possibly repeated.
  std::vector<JobId> woken = {};
  /// The event is that a node was heard again which had been found silent.
  bool after_silence = false;

  Notice notice(NoticeKind kind, const JobState& job) const {
    Notice n;
    n.kind = kind;
    n.at = at;
    n.occurred_at = occurred_at;
    n.job = job.row.id;
    n.generation = job.row.generation;
    return n;
  }
};

/// Notes a counter of the job that was raised.
void count(Step& step, JobState& job, Counter counter);

/// Notes that an event, or a part of a plan, changed nothing. `job` may be null.
void ignore(Step& step, const JobState* job, Ignored why, std::size_t event_kind);

/// What one replica of the role takes.
Demand demand_of(Step& step, const JobState& job, RoleIndex role);

}  // namespace orrery
