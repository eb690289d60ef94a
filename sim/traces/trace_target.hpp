// Forms that a trace can be written in, and what each cannot hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/traces/trace.hpp"

namespace orrery::sim {

/// Something of the trace that the written text does not hold.
struct TraceLoss {
  std::string what;        ///< "user names", ...
  std::uint64_t jobs = 0;  ///< So many jobs had it.
};

/// A written trace.
struct TraceText {
  std::string text;
  std::vector<TraceLoss> losses;  ///< Only those of at least one job.
};

/// One form.
struct TraceTarget {
  std::string_view name;
  std::string_view what;  ///< One line for help.
  TraceText (*write)(const Trace& trace);
};

/// All forms, the fullest first.
std::span<const TraceTarget> trace_targets();

/// The form of this name; null where there is none.
const TraceTarget* find_trace_target(std::string_view name);

/// Counts what is lost, in the order of the first mention.
class TraceLosses {
 public:
  /// One job loses `what` where `lost`.
  void note(std::string_view what, bool lost);

  std::vector<TraceLoss> take() { return std::move(losses_); }

 private:
  std::vector<TraceLoss> losses_;
};

}  // namespace orrery::sim
