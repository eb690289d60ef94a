// Which nodes, rectangles and jobs of a run a page shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/reports/report_html.hpp"

namespace orrery::sim {

/// Neighbouring devices of one node that a segment holds.
struct DrawnPart {
  std::uint32_t segment = 0;  ///< Index into `Timeline::segments`.
  NodeId node;
  std::int32_t first_device = 0;
  std::int32_t devices = 0;
  const DevicePart* held = nullptr;  ///< What it is of, in the timeline.
};

/// What is shown, in ascending order, and where each stands on the page.
struct PageSelection {
  std::vector<NodeId> nodes;
  std::vector<std::int32_t> node_row;  ///< [node]; -1: not shown.
  std::vector<DrawnPart> parts;
  std::vector<JobId> jobs;
  std::vector<std::int32_t> job_row;  ///< [job]; -1: not shown.
  std::vector<std::string> thinned;   ///< Sentences about what is not.
};

/// Shows everything within the limits. Beyond them every so many-th node with all that happened on
/// it; where even that is too much, not the shortest rectangles; every so many-th of the jobs that
/// no rectangle names.
PageSelection selected(const RunPage& run, const PageLimits& limits);

}  // namespace orrery::sim
