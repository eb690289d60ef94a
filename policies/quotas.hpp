// Which jobs some quota limits, alone or together.
#pragma once

#include <cstdint>

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

}  // namespace orrery::policies
