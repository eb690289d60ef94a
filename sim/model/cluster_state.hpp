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
