// Workers that live but make no or little progress: hangs and stragglers, from progress and raw
// profilings. Soft state of the controller beside Liveness; out come the edges that are journaled.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/job/failover_spec.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// What one worker said last about how long its steps take.
struct RankStepTime {
  Rank rank;
  double seconds = 0;  ///< Above 0; values that are not are no measurements.
};

/// Those whose step time exceeds `factor` times the lower median of all, ascending by place in
/// `latest`. With a factor of 0 or fewer than two values there is none.
std::vector<std::size_t> stragglers(const std::vector<RankStepTime>& latest, double factor);

/// Watches the workers of jobs that asked for it (`failover.hang_after`,
/// `failover.straggler_factor`).
///
/// A worker hangs when it is ready and for `hang_after` there was no measurement of its own, nor
/// one of its job as a whole, nor any progress of that. Being ready counts as the first sign of
/// life. Each start of a worker is suspected of each thing once; and once more after each readiness
/// in its job, because what was suspected while the job did not run was not acted upon.
class Suspicions {
 public:
  /// A job is known, with what it asks for. A job that asks for nothing costs nothing.
  void watch(JobId job, const FailoverSpec& wanted);

  /// The job is over.
  void forget(JobId job);

  /// The controller orders a membership: which worker has which rank. Other orders change nothing.
  void ordered(const CommandBody& order);

  /// A worker is ready, has ended or was lost.
  void reported(const WorkersChanged& report, Instant now);

  /// The job as a whole made progress: a sign of life of every worker. Where `done` is what it was,
  /// it is none.
  void progressed(const ProgressReported& progress, Instant now);

  /// Raw measurements of one worker, equal ones included; `step_time_s` is looked at. Rank none: of
  /// the job as a whole, a sign of life of every worker of that generation.
  void profiled(const ProfilingChanged& measured, Instant now, std::vector<EventBody>& edges);

  /// Appends WorkerSuspected for every worker that has hung for long enough.
  void time_reached(Instant now, std::vector<EventBody>& edges);

  /// When `time_reached` must be called at the latest.
  Instant next_deadline() const;

  /// Jobs that are watched until they are forgotten.
  std::size_t watched() const { return jobs_.size(); }

  /// As Liveness::save.
  void save(ByteWriter& out) const;

 private:
  struct Watched {
    Incarnation incarnation;
    Generation born;
    Rank birth_rank;
    Generation generation;  ///< Its present one,
    Rank rank;              ///< and its rank in it.
    RoleIndex role;
    bool ready = false;
    bool told_hung = false;
    bool told_slow = false;
    Instant sign_of_life;
    double step_time = 0;  ///< 0: none of the present generation.

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& v) {
      v.field("incarnation", self.incarnation);
      v.field("born", self.born);
      v.field("birth_rank", self.birth_rank);
      v.field("generation", self.generation);
      v.field("rank", self.rank);
      v.field("role", self.role);
      v.field("ready", self.ready);
      v.field("told_hung", self.told_hung);
      v.field("told_slow", self.told_slow);
      v.field("sign_of_life", self.sign_of_life);
      v.field("step_time", self.step_time);
    }
  };

  struct Job {
    Duration hang_after = Duration::forever();
    double straggler_factor = 0;
    double done = -1;  ///< At the last progress; below 0: none yet.
    std::vector<Watched> workers;
    Instant deadline = Instant::never();
  };

  Watched* by_present(Job& job, Generation generation, Rank rank);
  Watched* by_birth(Job& job, Generation born, Incarnation incarnation, Rank birth_rank);
  void look_for_stragglers(JobId id,
                           Job& job,
                           const Watched& measured,
                           std::vector<EventBody>& edges);
  void set_deadline(JobId id, Job& job);
  static WorkerSuspected edge_of(JobId id, const Watched& worker, Suspicion suspicion);

  std::map<JobId, Job> jobs_;                      ///< Only those that ask for something.
  std::set<std::pair<Instant, JobId>> deadlines_;  ///< Of jobs that have one.
};

}  // namespace orrery
