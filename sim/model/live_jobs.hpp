// The jobs of a modelled cluster that are not over, and which of them have workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/paged_array.hpp"
#include "core/base/plain_array.hpp"
#include "core/base/prefetch.hpp"
#include "core/state/sorted_ids.hpp"
#include "sim/model/live_job.hpp"

namespace orrery::sim {

/// Where LiveJobs has a job: four bytes, for a million jobs that are over have one as well.
class JobPlace {
 public:
  JobPlace() = default;

  static JobPlace waiting(std::size_t at) { return JobPlace(-1 - static_cast<std::int32_t>(at)); }

  static JobPlace live(std::size_t at) { return JobPlace(1 + static_cast<std::int32_t>(at)); }

  bool waits() const { return number_ < 0; }

  bool lives() const { return number_ > 0; }

  /// In the list of those that wait, or of those that live.
  std::uint32_t at() const { return static_cast<std::uint32_t>(std::abs(number_)) - 1; }

 private:
  explicit JobPlace(std::int32_t number) : number_(number) {}

  std::int32_t number_ = 0;  // Counted from 1; below 0: it waits. 0: nowhere.
};

/// Jobs by their ids. A job is placed as long as it has workers, living or dead.
///
/// Until an accepted job is looked up, which its first start does, it is kept as what was
/// submitted: hundreds of thousands may wait, and a job with its progress takes three times as
/// much.
class LiveJobs {
 public:
  /// Null where the job is over or was never accepted.
  LiveJob* find(JobId id) const {
    const std::size_t at = index(id);
    if (at >= places_.size()) return nullptr;
    const JobPlace place = places_[at];
    return place.lives() ? live_[place.at()].get() : place.waits() ? begin(id) : nullptr;
  }

  /// Something happens to the job next: its memory is fetched meanwhile.
  void expect(JobId id) const {
    if (index(id) >= places_.size()) return;
    const JobPlace place = places_[index(id)];
    if (place.lives()) prefetch(live_[place.at()].get());
    if (place.waits()) prefetch(&waiting_[place.at()]);
  }

  /// The same some time later, for what the job has in memory of its own.
  void expect_parts(JobId id) const {
    if (!lives(id)) return;
    const LiveJob& job = *live_[places_[index(id)].at()];
    prefetch(job.workers.data());
    prefetch(job.job.spec.get());
  }

  /// Something happens to the job soon: where it is, is fetched meanwhile.
  void expect_place(JobId id) const {
    if (index(id) < places_.size()) prefetch(&places_[index(id)]);
  }

  /// The job was accepted. It takes the place of whatever has its id.
  void insert(JobId id, ModelJob job);

  /// The job is over, and no longer placed.
  void erase(JobId id);

  /// From now on `named` finds the job.
  void remember_name(JobId id, const std::string& name) { names_[name] = id; }

  /// The job of this full name, also after its end; none where it was not remembered.
  JobId named(const std::string& name) const;

  /// An order has put the job on devices of `host`.
  void put_beside(JobId job, JobId host);

  /// The job with which this one shares devices, by an order that put one beside the other; null
  /// where there is none.
  LiveJob* partner_of(const LiveJob& job) const;

  /// Placed jobs that it was put beside, or that were put beside it; none where that is long ago.
  std::vector<LiveJob*> put_together_with(JobId job) const;

  /// Whether the job was ever put beside another, or another beside it.
  bool was_put_together(JobId job) const { return company_.contains(job); }

  /// Jobs that `erase` has removed.
  std::uint64_t erased() const { return erased_; }

  /// Jobs with workers, sorted by id.
  const std::vector<JobId>& placed() const { return placed_.list(); }

  /// Whether any job has workers; cheaper than the list.
  bool any_placed() const { return placed_count_ > 0; }

  void place(LiveJob& job);
  void unplace(LiveJob& job);

  /// The job has a worker on the node from now on.
  void note_on(const LiveJob& job, NodeId node);

  /// The placed jobs that may have workers on the node, sorted by id. A worker that is gone may be
  /// remembered.
  std::vector<JobId> on(NodeId node) const;

  /// Calls `visit` with each placed job, in order of id. It may change what is placed.
  template <class Visit>
  void for_each_placed(Visit visit) {
    const std::vector<JobId> placed = placed_.list();
    for (const JobId id : placed)
      if (LiveJob* job = find(id)) visit(*job);
  }

 private:
  /// A job has or had a worker on the node.
  struct Presence {
    NodeId node;
    JobId job;
  };

  /// Jobs with which one may share devices: whether they do, their workers tell.
  struct Company {
    JobId host;   ///< It was put beside this one,
    JobId guest;  ///< and this one beside it.
  };

  LiveJob* begin(JobId id) const;
  void drop(LiveJob& job);

  /// In `places_`; beyond its end for ids before the first.
  std::size_t index(JobId id) const { return id.index() - first_; }

  bool lives(JobId id) const { return index(id) < places_.size() && places_[index(id)].lives(); }

  // `find` turns what waits into what lives, so all of these are its to change.
  mutable PlainArray<JobPlace> places_;  // [JobId - first_]
  std::size_t first_ = 0;                // A world that goes on from a state begins late.
  mutable PagedArray<ModelJob> waiting_;
  mutable std::vector<std::uint32_t> free_waiting_;
  mutable std::vector<std::unique_ptr<LiveJob>> live_;
  mutable std::vector<std::uint32_t> free_live_;
  SortedIds placed_;
  std::size_t placed_count_ = 0;
  // In the order of starts; those of jobs that are over are left out now and then. One list: it is
  // read when a node fails, and written at each start, where a list of each node's own would not be
  // in the cache.
  std::vector<Presence> presences_;
  std::size_t tidy_at_ = 1024;  // Presences.
  std::map<JobId, Company> company_;
  std::map<std::string, JobId> names_;
  std::uint64_t erased_ = 0;
};

}  // namespace orrery::sim
