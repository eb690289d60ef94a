// Which of several controllers leads, and for how long that is certain.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "core/base/result.hpp"

namespace orrery::runtime {

/// A controller as the others and their clients hear of it.
struct Candidate {
  std::string name;     ///< Unique among the candidates of one election; not empty.
  std::string address;  ///< Of its HTTP server, "http://10.0.0.1:22100"; where clients are sent.

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// One leadership that was won.
struct Leadership {
  /// Rises with each leadership of the election, whichever candidate wins; 0 where there is no
  /// election. Every write to a store that is shared by the candidates is refused unless it carries
  /// the current one. It is not the epoch, which is in the journal and rises with `EpochStarted`.
  std::int64_t fence = 0;
};

/// Elects one leader among the controllers that share a store. The life of a candidate: `campaign`,
/// lead while `until` lies ahead, `resign` or lose, `campaign` again. Not shared between threads,
/// but for `until`, `is_certain` and `leader`, which every thread may call.
class Election {
 public:
  using Clock = std::chrono::steady_clock;

  /// What is called where a leadership is over without `resign`, with the reason; once for each
  /// leadership, on a thread of the election. It must not call back into the election, but for what
  /// every thread may call. The leader must stop issuing orders and end its term.
  using Lost = std::function<void(const Errors&)>;

  virtual ~Election() = default;

  /// Waits until this candidate leads; none where `cancel` was requested before. A leadership of
  /// its own that still stands is given up first. An error where it cannot lead until somebody
  /// mends the settings or its rights at the service; it may campaign again. A service that is out
  /// of reach is waited for.
  virtual Result<std::optional<Leadership>> campaign(std::stop_token cancel) = 0;

  /// Until when it is certain that no other candidate leads: `Clock::time_point::min()` where this
  /// one does not lead, `max()` where no other can. It moves ahead while the service of the
  /// election answers. A leader that is past it must renew no agent's lease, since its successor
  /// may count on the end of those; it may go on where `until` moves ahead again.
  virtual Clock::time_point until() const = 0;

  bool is_certain() const { return Clock::now() < until(); }

  /// Gives the leadership up at once, so that another need not wait for its end; nothing where
  /// there is none. The last record must be durable before. What fails then ends by itself.
  virtual Status resign() = 0;

  /// The leader as far as is known here; none where there is none or it is not known.
  virtual std::optional<Candidate> leader() const = 0;
};

}  // namespace orrery::runtime
