// A scenario that the loader takes, under control by agents and the storm's checker: a storm that
// coverage leads, where `orrery storm` draws anew each time. Only that jobs come to an end is not
// demanded, for any scenario may ask for what can never run.
#include <cstddef>
#include <cstdint>

#include "core/base/invariant.hpp"
#include "sim/storm/storm_run.hpp"
#include "tests/system/fuzz/small_scenario.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto small = tests::small_scenario(data, size, Duration::seconds(3'600));
  if (!small) return 0;
  small->scenario.invariants = true;
  sim::StormOptions options;
  options.policy = small->policy;
  for (const sim::Violation& each : sim::run_storm(small->scenario, options).violations)
    invariant(each.kind == sim::ViolationKind::Liveness, each.text);
  return 0;
}
