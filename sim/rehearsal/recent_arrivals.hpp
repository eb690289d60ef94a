// Jobs that may yet arrive: those of a state once more, in another order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/random.hpp"
#include "core/state/state.hpp"
#include "sim/model/model_job.hpp"
#include "sim/rehearsal/remaining_time.hpp"

namespace orrery::sim {

/// Endless, from a state's `now` on: each job is the specification of one of the 1,000 that the
/// state saw submitted last, and comes after one of the gaps that were between these. None come
/// where fewer than two are known, or all of them came at once.
class RecentArrivals final : public JobSource {
 public:
  /// Copies what it needs of `state`; `history` outlives it.
  RecentArrivals(const State& state, const RunHistory& history, Random random);

  std::optional<ModelJob> next() override;

 private:
  const RunHistory& history_;
  Random random_;
  std::vector<std::shared_ptr<const JobSpec>> specs_;
  std::vector<Duration> gaps_;
  Instant last_;
  std::uint64_t count_ = 0;
};

}  // namespace orrery::sim
