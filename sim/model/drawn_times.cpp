#include "sim/model/drawn_times.hpp"

#include "core/base/mixed_bits.hpp"

namespace orrery::sim {
namespace {

// Start and restore share one: a node that is slow to start is slow to read.
constexpr std::uint64_t kStart = 1;
constexpr std::uint64_t kStop = 2;
constexpr std::uint64_t kRescale = 3;

}  // namespace

double DrawnTimes::part(std::uint64_t purpose, JobId job, std::uint64_t which) const {
  const std::uint64_t draws = mixed_bits(scenario_.timing.spread.draws ^ (purpose << 56));
  const std::uint64_t run = mixed_bits(scenario_.seed ^ draws);
  const std::uint64_t bits = mixed_bits(mixed_bits(run + job.value) + which);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

Duration DrawnTimes::start(JobId job, Incarnation incarnation) const {
  const scenarios::Timing& timing = scenario_.timing;
  if (timing.spread.start.empty()) return timing.start;
  return timing.spread.start.at(part(kStart, job, incarnation.value));
}

Duration DrawnTimes::restore(JobId job, Incarnation incarnation) const {
  const scenarios::Timing& timing = scenario_.timing;
  if (timing.spread.restore.empty()) return timing.restore;
  return timing.spread.restore.at(part(kStart, job, incarnation.value));
}

Duration DrawnTimes::stop(JobId job, Instant asked) const {
  const scenarios::Timing& timing = scenario_.timing;
  if (timing.spread.stop.empty()) return timing.stop;
  return timing.spread.stop.at(part(kStop, job, static_cast<std::uint64_t>(asked.ns)));
}

Duration DrawnTimes::rescale(JobId job, Generation generation) const {
  const scenarios::Timing& timing = scenario_.timing;
  if (timing.spread.rescale.empty()) return timing.rescale;
  return timing.spread.rescale.at(part(kRescale, job, generation.value));
}

}  // namespace orrery::sim
