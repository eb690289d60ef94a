// Requests to submit whose jobs are retired: a client that repeats one late gets its answer again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

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

  /// The job of this request, the youngest of several; none where it is not known.
  JobId find(std::uint64_t request) const;

  /// Forgets those whose time is over at `now`.
  void forget_until(Instant now);

  /// Oldest first.
  const std::deque<PastRequest>& list() const { return known_; }

 private:
  std::size_t home_of(std::uint64_t request) const;
  std::size_t slot_of(std::uint64_t request) const;
  void rebuild();
  void empty_slot(std::size_t slot);

  const PastRequest& numbered(std::uint64_t number) const { return known_[number - first_]; }

  std::deque<PastRequest> known_;
  std::uint64_t first_ = 1;  ///< Number of the oldest; they are counted from 1.
  /// Open addressing by request: the number of the youngest with it, or 0. A power of two, at least
  /// half of it empty.
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(16, 0);
};

}  // namespace orrery
