#include "sim/traces/trace_target.hpp"

#include <algorithm>
#include <array>

#include "sim/traces/orrery_csv.hpp"
#include "sim/traces/write_batsim.hpp"
#include "sim/traces/write_philly.hpp"
#include "sim/traces/write_swf.hpp"

namespace orrery::sim {
namespace {

constexpr std::array<TraceTarget, 4> kTargets = {
    {{"orrery",
      "Orrery's own CSV form, which holds everything",
      [](const Trace& trace) {
        return TraceText{orrery_csv(trace), {}};
      }},
     {"swf", "the Standard Workload Format, a processor for a device", &write_swf},
     {"batsim", "a Batsim workload of delay jobs, a host for a device", &write_batsim},
     {"philly", "the Philly extract's CSV form", &write_philly}}};

}  // namespace

std::span<const TraceTarget> trace_targets() { return kTargets; }

const TraceTarget* find_trace_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &TraceTarget::name);
  return found == kTargets.end() ? nullptr : &*found;
}

void TraceLosses::note(std::string_view what, bool lost) {
  if (!lost) return;
  const auto known = std::ranges::find(losses_, what, &TraceLoss::what);
  if (known == losses_.end()) {
    losses_.push_back({std::string(what), 1});
  } else {
    ++known->jobs;
  }
}

}  // namespace orrery::sim
