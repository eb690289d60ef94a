// Gittins indices of jobs of which only the distribution of total service is known.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::policies {

/// The Gittins index by attained service, from samples of the total service of jobs.
///
/// With a step of zero it is the index as defined (Gu et al., Tiresias, NSDI 2019):
///
///   G(a) = max over D of P(S - a <= D | S > a) / E[min(S - a, D) | S > a]
///
/// with S the samples and D up to each of them; a is taken at the last sample passed, so that the
/// index changes only there.
///
/// With a step above zero it is what the published simulator computes: one fixed D = step, total
/// services in place of S - a in the expectation, P and E rounded to 5 decimals, and a taken 1
/// device-second before the next sample.
class GittinsTable {
 public:
  /// An empty table: every index is 0.
  GittinsTable() = default;

  /// `services_s`: device-seconds, above 0, in any order. `step_s`: device-seconds, 0 or more.
  GittinsTable(std::vector<double> services_s, double step_s);

  bool empty() const { return services_us_.empty(); }

  /// The index at this service (device-microseconds, 0 or more), in completions per 10^10
  /// device-seconds (that is, 10^6 P/E with four decimals). 0 beyond the largest sample.
  std::int64_t index_at(std::int64_t attained_us) const;

  /// The service above `attained_us` at which the index changes next; INT64_MAX where it does not.
  std::int64_t next_change(std::int64_t attained_us) const;

 private:
  std::vector<std::int64_t> services_us_;  ///< Ascending.
  std::vector<std::int64_t> indices_;      ///< [sample]: while that is the first above the service.
};

}  // namespace orrery::policies
