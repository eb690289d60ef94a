#include "sim/statistics/run_figures.hpp"

#include <algorithm>
#include <array>

#include "core/base/invariant.hpp"

namespace orrery::sim {
namespace {

template <auto member>
double value_of(const Summary& summary) {
  return static_cast<double>(summary.*member);
}

using enum Preferred;
using S = Summary;

constexpr std::array<RunFigure, 20> kFigures{{
    {"jobs_failed", "failed", Lower, false, false, value_of<&S::jobs_failed>},
    {"jobs_unfinished", "unfinished", Lower, false, false, value_of<&S::jobs_unfinished>},
    {"jct_avg_s", "JCT avg (s)", Lower, false, true, value_of<&S::jct_avg_s>},
    {"jct_p50_s", "JCT p50 (s)", Lower, false, false, value_of<&S::jct_p50_s>},
    {"jct_p90_s", "JCT p90 (s)", Lower, false, false, value_of<&S::jct_p90_s>},
    {"jct_p99_s", "JCT p99 (s)", Lower, false, true, value_of<&S::jct_p99_s>},
    {"queue_avg_s", "queue avg (s)", Lower, false, true, value_of<&S::queue_avg_s>},
    {"queue_p99_s", "queue p99 (s)", Lower, false, false, value_of<&S::queue_p99_s>},
    {"slowdown_avg", "slowdown avg", Lower, false, true, value_of<&S::slowdown_avg>},
    {"slowdown_p99", "slowdown p99", Lower, false, false, value_of<&S::slowdown_p99>},
    {"ftf_avg", "FTF avg", Lower, false, false, value_of<&S::ftf_avg>},
    {"ftf_max", "FTF max", Lower, false, true, value_of<&S::ftf_max>},
    {"ftf_unfair", "unfair (%)", Lower, true, false, value_of<&S::ftf_unfair>},
    {"makespan_s", "makespan (s)", Lower, false, true, value_of<&S::makespan_s>},
    {"gpu_utilization", "GPU use (%)", Higher, true, true, value_of<&S::gpu_utilization>},
    {"fragmentation_avg", "fragments (%)", Lower, true, true, value_of<&S::fragmentation_avg>},
    {"restarts", "restarts", Lower, false, true, value_of<&S::restarts>},
    {"reallocations", "realloc.", Neither, false, false, value_of<&S::reallocations>},
    {"preemptions", "preempt.", Neither, false, false, value_of<&S::preemptions>},
    {"node_losses", "node losses", Neither, false, false, value_of<&S::node_losses>},
}};

}  // namespace

std::span<const RunFigure> run_figures() { return kFigures; }

const RunFigure& run_figure(std::string_view key) {
  const auto found = std::ranges::find(kFigures, key, &RunFigure::key);
  invariant(found != kFigures.end(), "a figure that is asked for is in the table");
  return *found;
}

}  // namespace orrery::sim
