// Requests to submit whose jobs are retired: a client that repeats one late gets its answer again.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// How long a request is known after its job was retired. A client repeats a request until it is
/// answered, and while no leader answers a job may be accepted, end and be retired.
inline constexpr Duration kRequestsKnownFor = Duration::seconds(600);

/// One request of a retired job.
struct PastRequest {
  std::uint64_t request = 0;  ///< Not 0.
  JobId job;
  Instant retired;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("request", self.request);
    v.field("job", self.job);
    v.field("retired", self.retired);
  }
};

/// The requests of the jobs that were retired within kRequestsKnownFor. All operations take
/// constant time on average.
class PastRequests {
 public:
  /// `past.retired` is not before that of the one added last.
  void add(const PastRequest& past);

  /// The job of this request; none where it is not known.
  JobId find(std::uint64_t request) const;

  /// Forgets those whose time is over at `now`.
  void forget_until(Instant now);

  /// Oldest first.
  const std::deque<PastRequest>& list() const { return known_; }

 private:
  std::deque<PastRequest> known_;
  std::unordered_map<std::uint64_t, JobId> jobs_;  ///< The youngest of each request; never walked.
};

}  // namespace orrery
