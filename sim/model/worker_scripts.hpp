// What scenarios say of single workers: that they exit after a time, or do not come up; and what
// recorded runs say of each of their lives.
#pragma once

#include <cstdint>

#include "sim/model/cluster_state.hpp"

namespace orrery::sim {

class WorkerScripts {
 public:
  /// `cluster` outlives the object.
  explicit WorkerScripts(ClusterState& cluster) : cluster_(cluster) {}

  /// What a start comes to when the worker would be up.
  enum class Launch : std::uint8_t {
    Up,
    Refused,
    PortInUse,  ///< Something else listens at a port of this start.
    NoProgram,  ///< Its program is not there.
    EndsYet,    ///< It does not come up, and what `schedule_early_end` has put ends it.
  };

  /// By what is told of the worker; where it has a life more, or is refused, that is counted.
  Launch launch(LiveJob& job, const ModelWorker& worker);

  /// The worker is up: its exit is put into the future where a script has one for it.
  void schedule_exit(LiveJob& job, const ModelWorker& worker);

  /// The worker starts: its end is put into the future where it ends before it is up.
  void schedule_early_end(const LiveJob& job, const ModelWorker& worker);

  /// What `schedule_exit` or `schedule_early_end` put into the future has come.
  struct Exit {
    ModelWorker* worker = nullptr;  ///< Null: it has ended or is told to stop already.
    WorkerFact fact = WorkerFact::Exited;
    std::int32_t exit_code = 0;
    Diagnosis diagnosis = {};
  };

  Exit exit_of(LiveJob& job, const Future& future);

 private:
  Launch launch_of_life(LiveJob& job, const ModelWorker& worker);

  /// Whether a script refuses this start; the refusal is counted.
  bool refuses(LiveJob& job, const ModelWorker& worker);

  /// Whether by a script something else listens at a port of this start; counted as well.
  bool finds_port_in_use(LiveJob& job, const ModelWorker& worker);

  /// Whether by a script the program of this start is not there. Lives that scripts before that one
  /// name come first.
  bool cannot_start(LiveJob& job, const ModelWorker& worker);

  /// The first script of the kind for the worker that has lives left, one of which is used up; the
  /// number of scripts where there is none.
  std::size_t use(LiveJob& job, const ModelWorker& worker, scenarios::ScriptKind kind);

  ClusterState& cluster_;
};

/// What a worker of the job says that is to blame somebody so. A peer that the job does not have is
/// named all the same, as a program might.
Diagnosis diagnosis_of(const LiveJob& job, const scenarios::Blamed& blamed);

/// Whether `ref` names the worker: by role and local rank, or by its rank at its start.
bool is_named(const LiveJob& job, const scenarios::WorkerRef& ref, const ModelWorker& worker);

}  // namespace orrery::sim
