// A scenario that the loader takes can be run: whatever it asks for, the run ends, no invariant
// breaks, and what it tells adds up.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/base/invariant.hpp"
#include "sim/run/run.hpp"
#include "tests/system/fuzz/small_scenario.hpp"

namespace {

using namespace orrery;

/// Ends a run that goes on for long.
class Patience final : public sim::RunListener {
 public:
  bool on_progress(const sim::RunProgress&) override { return true; }
};

void check(const sim::Summary& summary) {
  invariant(
      summary.jobs_total == summary.jobs_finished + summary.jobs_failed + summary.jobs_unfinished,
      "every job has finished, failed or neither");
  for (const double figure : {summary.makespan_s, summary.gpu_utilization})
    invariant(std::isfinite(figure) && figure >= 0, "figures are numbers");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto small = tests::small_scenario(data, size, Duration::seconds(86'400));
  if (!small) return 0;
  const auto policy = small->policy();
  Patience patience;
  sim::RunOptions options;
  options.listeners = {&patience};
  options.fresh_policy = small->policy;
  const auto report = sim::run_model(small->scenario, *small->workload, *policy, options);
  if (report)
    check(report->summary);
  else
    invariant(!report.errors().front().message.empty(), "every error has words");
  return 0;
}
