// What is asked of a state, answered by runs in world `model`: the same for `orrery forecast` and
// for the helper of a controller.
#pragma once

#include <functional>
#include <memory>

#include "core/base/result.hpp"
#include "core/control/controller.hpp"
#include "core/forecast/forecast_answer.hpp"
#include "core/plan/policy.hpp"

namespace orrery::sim {

struct ForecastMeans {
  /// A fresh policy for each run, which is the one that the state's settings name.
  std::function<Result<std::unique_ptr<Policy>>()> policy;
  std::function<bool()> stop = nullptr;  ///< Asked now and then; true ends the runs.
};

/// One run is as is most likely; of several, each draws how long jobs run, and quantiles are told.
/// About a job that waits or is not submitted it also tells whom it delays, by as many runs without
/// it. Nothing but the state is read. Who needs `from` no more moves it here: the last run then
/// goes on with it, where each other one has a copy. Errors: the policy's; a job that is not in the
/// state, or is over.
Result<ForecastAnswer> answer(Controller from,
                              const ForecastQuestion& question,
                              const ForecastMeans& means);

}  // namespace orrery::sim
