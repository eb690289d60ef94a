#include "core/workers/port_bands.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

namespace orrery::workers {
namespace {

constexpr bool bands_are_disjoint() {
  for (std::size_t i = 0; i < kPortBands.size(); ++i) {
    if (kPortBands[i].first >= kPortBands[i].end) return false;
    if (i > 0 && kPortBands[i - 1].end > kPortBands[i].first) return false;
  }
  return kPortBands.front().first > 1023 && kPortBands.back().end <= kPortLimit;
}

static_assert(bands_are_disjoint(), "ascending, disjoint, unprivileged and below the limit");

}  // namespace

std::vector<std::int32_t> engine_indexes(std::span<const EngineSeat> engines) {
  std::vector<std::size_t> order(engines.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t engine) {
    return std::tuple(engines[engine].node, engines[engine].first_device);
  });
  std::vector<std::int32_t> out(engines.size());
  for (std::size_t i = 1; i < order.size(); ++i)
    out[order[i]] =
        engines[order[i]].node == engines[order[i - 1]].node ? out[order[i - 1]] + 1 : 0;
  return out;
}

Result<std::int32_t> engine_port(std::int32_t engine_index) {
  if (engine_index < 0 || engine_index >= kEnginesPerNode)
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "engine " + std::to_string(engine_index),
                 "found no port for it, needed an engine 0 to " +
                     std::to_string(kEnginesPerNode - 1) +
                     " of its node; start fewer engines there, or larger ones"};
  return kEnginePorts.first + kPortsPerEngine * engine_index;
}

std::int32_t master_port(JobId job) {
  constexpr auto kPorts = static_cast<std::uint32_t>(kMasterPorts.end - kMasterPorts.first);
  return kMasterPorts.first + static_cast<std::int32_t>(job.value % kPorts);
}

}  // namespace orrery::workers
