// The check of nodes before work starts on them: two rounds in groups of two, so that a node that
// drags its partner down is told from the partner. Each round is compute and an all-reduce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"

namespace orrery {

/// What came of one round on one node.
struct NodeMeasure {
  bool failed = false;  ///< An error, or no answer in time.
  Duration took;        ///< Compute and all-reduce together; counts unless it failed.

  friend bool operator==(const NodeMeasure&, const NodeMeasure&) = default;
};

/// The nodes that check together: places in the list of nodes that are checked. Each stands in one
/// group.
using CheckGroups = std::vector<std::vector<std::size_t>>;

/// Neighbours in pairs. An odd one joins the last pair; a single node is a group alone.
CheckGroups first_check_round(std::size_t nodes);

/// The fastest of the first round with the slowest or failed, and so on inwards: a node that failed
/// meets one that did not, as long as no more than half did. Partners of the first round are kept
/// apart where others are left. `first` has one measure for each node.
CheckGroups second_check_round(std::span<const NodeMeasure> first);

/// The nodes that took longer than `factor` times the lower median, ascending: the rule that finds
/// stragglers among workers (core/agent/suspicion.hpp).
std::vector<std::size_t> find_straggling_nodes(std::span<const Duration> took, double factor = 2);

/// What two rounds show; ascending places.
struct CheckVerdict {
  std::vector<std::size_t> abnormal;    ///< Failed in both rounds, with whomever they were paired.
  std::vector<std::size_t> stragglers;  ///< Of the others: slow even in their better round.

  friend bool operator==(const CheckVerdict&, const CheckVerdict&) = default;
};

/// Both spans have one measure for each node.
CheckVerdict judge_nodes(std::span<const NodeMeasure> first,
                         std::span<const NodeMeasure> second,
                         double factor = 2);

/// One check from the first order to the verdict. The caller orders the groups of `round()`,
/// hands in what comes, and calls `give_up` at the deadline of a round.
class NodeCheck {
 public:
  /// `nodes`: at least 1. `factor`: as for `find_straggling_nodes`.
  explicit NodeCheck(std::size_t nodes, double factor = 2);

  /// 1 or 2; 3 when the verdict is there.
  std::int32_t round() const { return round_; }

  /// The nodes that check together in this round.
  const CheckGroups& groups() const { return groups_; }

  /// The measure of a node in this round; a second one, and one of another round, is ignored.
  /// Returns whether a new round, or the verdict, came of it.
  bool take(std::size_t node, std::int32_t round, NodeMeasure measure);

  /// Every node that has not answered in this round has failed. Returns as `take`.
  bool give_up();

  /// After both rounds.
  const std::optional<CheckVerdict>& verdict() const { return verdict_; }

 private:
  bool advance();

  double factor_;
  std::int32_t round_ = 1;
  CheckGroups groups_;
  std::vector<std::optional<NodeMeasure>> now_;
  std::vector<NodeMeasure> first_;
  std::optional<CheckVerdict> verdict_;
};

}  // namespace orrery
