// Jobs of which nodes hold less than a policy chose by count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>

#include "core/base/ids.hpp"

namespace orrery::policies {

/// For policies that choose sizes by count and then look for nodes: what a job was to have more
/// than it got would stay idle, so they choose again with no more for it. Each round allows less
/// of some job, so that they end.
class CutSizes {
 public:
  /// Begins a plan: every size may be chosen.
  void begin() { most_.clear(); }

  bool empty() const { return most_.empty(); }

  /// The most replicas that may be chosen.
  std::int32_t most(JobId job) const {
    const auto known = most_.find(job);
    return known == most_.end() ? std::numeric_limits<std::int32_t>::max() : known->second;
  }

  /// The job got so many, and was to have more; whether that is less than was known.
  bool note(JobId job, std::int32_t replicas) {
    if (replicas >= most(job)) return false;
    most_[job] = replicas;
    return true;
  }

 private:
  std::map<JobId, std::int32_t> most_;
};

}  // namespace orrery::policies
