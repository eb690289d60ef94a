// The node groups that a placement names, and how their resources are numbered (rules P12 to P15).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/error_sink.hpp"
#include "core/placement/inventory.hpp"
#include "core/placement/plan.hpp"

namespace orrery::placement {

/// Names of the kinds that are no custom hardware.
inline constexpr std::string_view kAcceleratorType = "Accelerator";
inline constexpr std::string_view kNodeType = "Node";

/// Resources of one group on one node; `count` is at least 1.
struct NodeResources {
  std::int64_t first = 0;  ///< Rank in the selection of the node's first resource.
  std::int32_t count = 0;  ///< Local indices 0 to count - 1; 1 where nodes are the resource.
  std::int32_t node_rank = 0;
  std::int32_t group = 0;  ///< Index into `Selection::labels`.
};

/// Resources numbered through groups in their order, in a group by node, on a node by local index.
struct Selection {
  std::vector<std::string> labels;
  std::vector<std::string> hardware_types;  ///< One per label.
  std::vector<ResourceKind> kinds;          ///< One per label.
  std::vector<std::int32_t> type_ids;       ///< One per label: equal where the types are.
  std::vector<NodeResources> nodes;         ///< Ascending by `first`, without holes.
  std::int64_t resources = 0;

  /// Whether nodes are the resource: then of every group.
  bool is_nodes() const { return kinds.front() == ResourceKind::Node; }
};

/// A label with its place.
struct PlacedLabel {
  std::string label;
  TextPosition at;
};

/// The labels that `labels` name, commas split; one reserved label for the whole cluster where
/// there are none.
std::vector<PlacedLabel> split_labels(const std::vector<PlacedText>& labels);

/// The selection of `labels`, at least one of them; nothing where one is unknown, unsound or
/// repeated, which is told unless it was told already.
std::optional<Selection> select_groups(const Inventory& inventory,
                                       const std::vector<PlacedLabel>& labels,
                                       const ErrorSink& errors);

/// The same where nodes are the resource whatever the groups have.
std::optional<Selection> select_nodes(const Inventory& inventory,
                                      const std::vector<PlacedLabel>& labels,
                                      const ErrorSink& errors);

/// Two groups of a selection of nodes that share a node: the second in `labels`, and a shared node.
struct SharedNode {
  std::int32_t group = 0;
  std::int32_t node_rank = 0;
};

/// The first node that a selection of nodes has twice.
std::optional<SharedNode> find_shared_node(const Selection& selection, std::size_t cluster_nodes);

/// Tells that groups used as nodes share one.
void tell_shared_node(const SharedNode& shared,
                      const Selection& selection,
                      TextPosition at,
                      const ErrorSink& errors);

/// Finds resources by rank; fast for ranks that mostly rise.
class ResourceFinder {
 public:
  /// `selection` must outlive the finder.
  explicit ResourceFinder(const Selection& selection) : selection_(&selection) {}

  /// The node that has `rank`, which is below the selection's resources.
  const NodeResources& find(std::int64_t rank);

 private:
  const Selection* selection_;
  std::size_t at_ = 0;
};

/// "0-7 on node 0, 8-15 on node 1 and 3 more": ranks by node, for messages.
std::string describe_resources(const Selection& selection);

}  // namespace orrery::placement
