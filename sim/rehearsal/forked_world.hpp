// World `model` from the middle of a run: jobs, workers and nodes stand as a controller's state
// says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/driver/world.hpp"
#include "core/state/state.hpp"
#include "sim/model/model_job.hpp"
#include "sim/model/model_world.hpp"

namespace orrery::sim {

/// A job of the state, and what is left of its work.
struct ForkedJob {
  JobId id;
  ModelJob job;     ///< `work` is what is left; `submit` does not count.
  double done = 0;  ///< Work that is done already, in the same unit.
};

/// Jobs of a state, and then those that are still to come, in the order of their submission.
class ForkedJobs final : public JobSource {
 public:
  /// `live` are submitted at `now`, where nobody hears of it. `later`, which outlives the source
  /// and may be null, gives the jobs after `to_come`.
  ForkedJobs(Instant now,
             std::vector<ForkedJob> live,
             std::vector<ModelJob> to_come,
             JobSource* later = nullptr);

  std::optional<ModelJob> next() override;

  const std::vector<ForkedJob>& live() const { return live_; }

 private:
  Instant now_;
  std::vector<ForkedJob> live_;
  std::vector<ModelJob> to_come_;
  JobSource* later_;
  std::size_t next_ = 0;
};

/// Brings a fresh ModelWorld to where a state is, through the world's own orders, and is that world
/// from then on. Workers that the state knows as starting are ready at once; silent nodes stay so.
class ForkedWorld final : public World {
 public:
  /// All outlive the world; `source` is that of `world`, which has not been waited for.
  ForkedWorld(ModelWorld& world, const ForkedJobs& source, const State& state);

  Instant now() const override { return world_.now(); }

  void issue(const Command& command) override { world_.issue(command); }

  void withheld(JobId job, Incarnation incarnation) override { world_.withheld(job, incarnation); }

  void never_started(const StartWorkers& left_out) override { world_.never_started(left_out); }

  bool wait_events(Instant deadline, std::vector<Event>& events) override;

  Instant quiet_until() override { return pending_.empty() ? world_.quiet_until() : now(); }

 private:
  void begin(const State& state);
  void place(const JobState& job);
  void order(CommandBody body);

  ModelWorld& world_;
  std::size_t live_ = 0;          ///< Submissions that are jobs of the state.
  std::map<JobId, double> done_;  ///< Work of jobs of the state before the fork.
  std::vector<Event> pending_;    ///< Of the begin, for the controller.
  Instant forked_at_;
  std::uint32_t orders_ = 0;
};

}  // namespace orrery::sim
