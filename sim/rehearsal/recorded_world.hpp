// A world in which users, workers and nodes also say what they said in a recorded run.
#pragma once

#include <cstdint>
#include <vector>

#include "core/driver/world.hpp"
#include "sim/rehearsal/recorded_run.hpp"

namespace orrery::sim {

/// Passes everything on, and adds the recorded requests when their time has come. They name jobs by
/// recorded ids; what a job's id is now is seen in the answers to submissions, whose requests are
/// numbered from 1 in the order of the recording.
class RecordedWorld final : public World {
 public:
  /// Both outlive the world. `with_nodes`: nodes and quotas that were declared later are declared
  /// then as well.
  RecordedWorld(World& world, const RecordedRun& run, bool with_nodes);

  Instant now() const override { return world_.now(); }

  void issue(const Command& command) override;

  void withheld(JobId job, Incarnation incarnation) override { world_.withheld(job, incarnation); }

  void never_started(const StartWorkers& left_out) override { world_.never_started(left_out); }

  bool wait_events(Instant deadline, std::vector<Event>& events) override;

  /// Which job each submission became; none: it was refused, or not submitted yet.
  const std::vector<JobId>& jobs() const { return jobs_; }

  /// Whether each submission was answered.
  const std::vector<bool>& answered() const { return answered_; }

 private:
  void say_what_is_due(std::vector<Event>& events);
  bool translated(EventBody& body) const;

  World& world_;
  const RecordedRun& run_;
  bool with_nodes_;
  std::vector<JobId> jobs_;             ///< [submission].
  std::vector<bool> answered_;          ///< Likewise.
  std::vector<std::uint32_t> numbers_;  ///< [recorded id]: submission.
  std::size_t next_ = 0;                ///< Of the requests.
};

}  // namespace orrery::sim
