// The jobs of a modelled cluster that are not over, and which of them have workers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "sim/model/live_job.hpp"

namespace orrery::sim {

/// Jobs by their ids. A job is placed as long as it has workers, living or dead.
class LiveJobs {
 public:
  /// Null where the job is over or was never accepted.
  LiveJob* find(JobId id) const {
    return id.index() < jobs_.size() ? jobs_[id.index()].get() : nullptr;
  }

  /// Takes the place of whatever has the job's id.
  void insert(std::unique_ptr<LiveJob> job);

  /// The job is over, and no longer placed.
  void erase(JobId id);

  /// From now on `named` finds the job.
  void remember_name(JobId id, const std::string& name) { names_[name] = id; }

  /// The job of this full name, also after its end; none where it was not remembered.
  JobId named(const std::string& name) const;

  /// Jobs that `erase` has removed.
  std::uint64_t erased() const { return erased_; }

  /// Jobs with workers, sorted by id.
  const std::vector<JobId>& placed() const { return placed_; }

  void place(JobId id);
  void unplace(JobId id);

  /// Calls `visit` with each placed job, in order of id. It may change what is placed.
  template <class Visit>
  void for_each_placed(Visit visit) {
    const std::vector<JobId> placed = placed_;
    for (const JobId id : placed)
      if (LiveJob* job = find(id)) visit(*job);
  }

 private:
  std::vector<std::unique_ptr<LiveJob>> jobs_;  // [JobId]; null once over.
  std::vector<JobId> placed_;
  std::map<std::string, JobId> names_;
  std::uint64_t erased_ = 0;
};

}  // namespace orrery::sim
