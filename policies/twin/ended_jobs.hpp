// What a policy remembers of jobs that are over.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/plan/cluster_view.hpp"
#include "core/plan/rehearsal.hpp"

namespace orrery::policies {

/// Sees jobs start and end in the views that it is shown, and keeps how long the last of them ran,
/// in service: jobs that their users stop count as well.
class EndedJobs {
 public:
  /// So many are kept.
  static constexpr std::size_t kKept = 256;

  /// A job that starts and ends between two looks is not seen.
  void look(const ClusterView& view);

  /// The view is not looked at, and what was touched before it is for the next look.
  void pass(const ClusterView& view);

  const std::vector<EndedJob>& ended() const { return ended_; }

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  /// A job that held devices at the last look.
  struct Known {
    std::int64_t attained_us = 0;  ///< Device-microseconds at `as_of`.
    Instant as_of;
    std::int32_t held = 0;  ///< Devices since then.
    std::int32_t gang = 1;  ///< Devices of its minimum.
    Duration stated;

    friend bool operator==(const Known&, const Known&) = default;
  };

  void look_at(const ClusterView& view, JobId id);
  void end(const Known& known, Instant now);

  std::map<JobId, Known> known_;
  Instant looked_at_;            ///< The last look.
  std::vector<EndedJob> ended_;  ///< A ring once it is full.
  std::size_t next_ = 0;         ///< Where the next one goes in a full ring.
  std::vector<JobId> passed_;    ///< Touched since the last look. Derived.
  bool passed_complete_ = true;  ///< Whether `passed_` has all of them.
  // What was saved of both, while it has not changed: policies are saved far more often than jobs
  // start and end.
  mutable ByteWriter known_bytes_;
  mutable ByteWriter ended_bytes_;
};

}  // namespace orrery::policies
