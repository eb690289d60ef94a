// What the parts of the simulated cluster share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/model/cluster_listener.hpp"
#include "sim/model/drawn_times.hpp"
#include "sim/model/event_heap.hpp"
#include "sim/model/live_jobs.hpp"
#include "sim/model/node_table.hpp"

namespace orrery::sim {

/// The clock, the future, the tables of nodes and jobs, and who is told.
struct ClusterState {
  ClusterState(const scenarios::Scenario& s, ClusterListener& l)
      : scenario(s), listener(l), times(s), nodes(s) {}

  /// Something is not modelled as asked; the first so many sentences are kept.
  void warn(std::string sentence) {
    constexpr std::size_t kMost = 100;
    if (warnings.size() < kMost)
      warnings.push_back(std::move(sentence));
    else if (warnings.size() == kMost)
      warnings.emplace_back("further remarks of this run are left out");
  }

  const scenarios::Scenario& scenario;
  ClusterListener& listener;
  DrawnTimes times;
  Instant now;
  EventHeap future;
  NodeTable nodes;
  LiveJobs jobs;
  std::vector<std::string> warnings;  ///< A sentence for each thing not modelled as asked.
  std::int64_t named_futures = 0;     ///< Faults, requests and answers still to come.
  std::int64_t comebacks = 0;         ///< Nodes and devices that will be back.
};

}  // namespace orrery::sim
