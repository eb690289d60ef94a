// From resource ranks to processes: nodes, devices and the ranks inside nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/placement/error_sink.hpp"
#include "core/placement/plan.hpp"
#include "core/placement/selection.hpp"

namespace orrery::placement {

/// What is wrong with the resources of one process.
struct ProcessFault {
  ErrorKind kind = ErrorKind::ProcessSpansNodes;
  std::int64_t process = 0;
  std::int64_t others = 0;  ///< Further processes of the same entry with a fault.
  std::string found;        ///< "resource 7 on node 0 and resource 8 on node 1".
};

/// Puts processes, in rank order, on resources of one selection.
class Assignment {
 public:
  /// `selection` must outlive the assignment.
  Assignment(const Selection& selection, std::string component);

  /// The next process, on the resources of these ranks: at least one, ascending, each below the
  /// count. Nothing, or why it cannot be (rules P17, P18); it is then not added.
  std::optional<ProcessFault> add(std::span<const std::int64_t> ranks);

  /// The same for `first`, `first` + `stride`, ..., `count` of them.
  std::optional<ProcessFault> add(std::int64_t first, std::int64_t count, std::int64_t stride);

  /// The component with the ranks of its processes inside nodes. `cluster_nodes`: of the inventory.
  ComponentPlan finish(std::size_t cluster_nodes);

 private:
  template <class RankAt>
  std::optional<ProcessFault> add_ranks(std::int64_t count, RankAt rank_at);

  const Selection* selection_;
  ResourceFinder finder_;
  std::vector<std::int64_t> keys_;  ///< Of the devices of one process; kept for its memory.
  ComponentPlan plan_;
  std::int64_t attempts_ = 0;
};

/// Says what is wrong with an entry of a text or a strategy.
void tell_fault(const ProcessFault& fault,
                const Selection& selection,
                TextPosition at,
                const ErrorSink& errors);

}  // namespace orrery::placement
