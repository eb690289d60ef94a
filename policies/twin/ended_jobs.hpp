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

  const std::vector<EndedJob>& ended() const { return ended_; }

  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  /// A job that held devices in the last view.
  struct Known {
    std::int64_t attained_us = 0;  ///< Device-microseconds at `at`.
    Instant at;
    std::int32_t held = 0;  ///< Devices.
    std::int32_t gang = 1;  ///< Devices of its minimum.
    Duration stated;
  };

  void end(const Known& known, Instant now);

  std::map<JobId, Known> known_;
  std::vector<EndedJob> ended_;  ///< A ring once it is full.
  std::size_t next_ = 0;         ///< Where the next one goes in a full ring.
};

}  // namespace orrery::policies
