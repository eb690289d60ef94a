// Which jobs some quota limits, alone or together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "core/job/row.hpp"

namespace orrery::policies {

/// In place of a quota's number: there is none.
inline constexpr std::uint32_t kNoQuota = UINT32_MAX;

/// Whether some quota limits the job.
inline bool has_quota(const JobRow& row) {
  return row.quota_group != kNoQuota || row.quota_namespace != kNoQuota;
}

/// Whether some quota of the cluster counts both jobs.
inline bool share_quota(const JobRow& a, const JobRow& b) {
  return (a.quota_group != kNoQuota && a.quota_group == b.quota_group) ||
         (a.quota_namespace != kNoQuota && a.quota_namespace == b.quota_namespace);
}

/// What quotas count of the job with so many replicas of its elastic role.
inline std::int32_t devices_at(const JobRow& row, std::int32_t replicas) {
  return replicas * row.demand.devices + row.rest_devices;
}

/// Devices that one plan gives jobs of each quota beyond what they hold. What it takes from others
/// counts when it is gone, and so not here.
class QuotaGains {
 public:
  void clear() { gains_.clear(); }

  void add(const JobRow& row, std::int32_t more) {
    if (row.quota_group != kNoQuota) gains_[{false, row.quota_group}] += more;
    if (row.quota_namespace != kNoQuota) gains_[{true, row.quota_namespace}] += more;
  }

  /// The most that others of one of the job's quotas are given. `own`: what was added for itself.
  std::int32_t of_others(const JobRow& row, std::int32_t own = 0) const {
    std::int32_t most = 0;
    for (const Quota& quota : {Quota{false, row.quota_group}, Quota{true, row.quota_namespace}})
      if (const auto gains = gains_.find(quota); gains != gains_.end())
        most = std::max(most, gains->second - own);
    return most;
  }

 private:
  using Quota = std::pair<bool, std::uint32_t>;  ///< Of a namespace, not a group; its number.

  std::map<Quota, std::int32_t> gains_;
};

}  // namespace orrery::policies
