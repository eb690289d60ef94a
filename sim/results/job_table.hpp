// One row per job of a run, kept until the results are written: a million of them fit in 100 MB.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/paged_array.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/units.hpp"
#include "core/job/job_enums.hpp"

namespace orrery::sim {

/// What the workload says about a job. The views need to live only for the call they are passed to.
struct JobFacts {
  std::string_view name;     ///< As in the workload's file: `jobs.csv` and `events.jsonl` show it.
  std::string_view profile;  ///< Throughput model or application; may be empty.
  Instant submitted;
  std::int32_t devices_requested = 0;      ///< Of the whole job at its minimum.
  std::int64_t thousandths_requested = 0;  ///< Parts counted as parts; 0: as `devices_requested`.
  Duration time_requested;                 ///< Stated run time; zero where none.
  std::string_view name_space;             ///< Of the job in the controller.
  std::string_view group;                  ///< Likewise; may be empty.
};

/// Whose a job is.
struct JobOwner {
  std::string name_space;
  std::string group;

  friend auto operator<=>(const JobOwner&, const JobOwner&) = default;
};

/// What became of a job.
struct JobOutcome {
  Instant submitted = Instant::never();  ///< Never: the run has no job of this id.
  Instant started = Instant::never();    ///< First allocation.
  Instant finished = Instant::never();   ///< When it ended in the world, either way.
  Duration time_requested;               ///< Zero: none stated.
  std::int32_t devices_requested = 0;
  std::int32_t thousandths_held = 0;  ///< Of devices.
  std::uint32_t restarts = 0;
  std::uint32_t reschedules = 0;
  std::uint32_t preemptions = 0;
  std::uint32_t node_losses = 0;
  std::uint32_t labels = 0;  ///< See `JobTable::profile` and `JobTable::owner`.
  JobPhase phase = JobPhase::Pending;
  Reason reason = Reason::Submitted;

  bool exists() const { return !submitted.is_never(); }

  bool has_started() const { return !started.is_never(); }

  bool is_over() const { return is_final(phase); }
};

/// The name that a user wrote: without the "default." that loaders put before a bare name.
std::string_view display_name(std::string_view full_name);

/// Rows by JobId with their names.
class JobTable {
 public:
  /// Adds a job; ids must ascend, gaps are filled with rows that do not exist.
  void add(JobId id, const JobFacts& facts);

  /// The job is written to soon: its row is fetched meanwhile.
  void expect(JobId id) const {
    if (id.index() < rows_.size()) prefetch(&rows_[id.index()]);
  }

  /// One past the highest id.
  std::size_t size() const { return rows_.size(); }

  bool contains(JobId id) const {
    return !id.is_none() && id.index() < rows_.size() && rows_[id.index()].exists();
  }

  JobOutcome& operator[](JobId id) { return rows_[id.index()]; }

  const JobOutcome& operator[](JobId id) const { return rows_[id.index()]; }

  /// In the order of the ids, including those that do not exist.
  const PagedArray<JobOutcome>& rows() const { return rows_; }

  /// The name given with `add`; valid until the next `add`.
  std::string_view name(JobId id) const;

  std::string_view profile(const JobOutcome& row) const {
    return profiles_[labels_[row.labels].profile];
  }

  /// Thousandths of devices of the whole job at its minimum.
  std::int64_t thousandths_requested(std::uint32_t index) const {
    const auto parts = parts_requested_.find(index);
    return parts != parts_requested_.end() ? parts->second
                                           : std::int64_t{rows_[index].devices_requested} * 1000;
  }

  const JobOwner& owner(const JobOutcome& row) const { return owners_[labels_[row.labels].owner]; }

 private:
  /// What many jobs have in common, and a row has no room for: where it stands.
  struct Labels {
    std::uint32_t profile = 0;
    std::uint32_t owner = 0;

    friend auto operator<=>(const Labels&, const Labels&) = default;
  };

  std::uint32_t labels_number(const JobFacts& facts);
  std::uint32_t profile_number(std::string_view profile);
  std::uint32_t owner_number(const JobFacts& facts);

  PagedArray<JobOutcome> rows_;
  std::string names_;                    // All names one after the other,
  std::vector<std::uint32_t> name_end_;  // [id]: where each ends.
  /// By index, of jobs that ask for parts of devices: their thousandths.
  std::map<std::uint32_t, std::int64_t> parts_requested_;
  std::vector<Labels> labels_;
  std::map<Labels, std::uint32_t> labels_numbers_;
  std::vector<std::string> profiles_;
  std::map<std::string, std::uint32_t, std::less<>> profile_numbers_;
  std::vector<JobOwner> owners_;
  std::map<JobOwner, std::uint32_t> owner_numbers_;
  std::uint32_t last_owner_ = 0;  // Of the job added last: the next one's is often the same.
};

}  // namespace orrery::sim
