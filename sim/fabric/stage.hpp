// What a job does over a stretch of time in which its nodes do not change: equal steps of compute
// and exchange. Every level of fidelity executes these, each in its own way.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"

namespace orrery::sim {

/// Bytes from one node to another. `NodeId::none()` is the cluster's storage.
struct Transfer {
  NodeId from;
  NodeId to;
  double bytes = 0;  ///< 0 or more.
};

/// Which rank sends what to which.
enum class Pattern : std::uint8_t {
  Ring,       ///< All-reduce over `members` in a ring: 2 (N - 1) / N of `bytes` on each edge.
  Tree,       ///< All-reduce over a binary tree: `bytes` up and down each of its N - 1 edges.
  Broadcast,  ///< `bytes` from `members[0]` down a binary tree to all others.
  Chain,      ///< `bytes` from each member to the next, and as many back.
  AllToAll,   ///< `bytes` from each member to each other.
  Transfers,  ///< As listed.
};

/// One exchange within a step.
struct Exchange {
  Pattern pattern = Pattern::Transfers;
  std::vector<NodeId> members;      ///< Distinct, by rank; empty for Transfers.
  double bytes = 0;                 ///< As the pattern says, per step.
  std::vector<Transfer> transfers;  ///< Transfers: per step.
};

/// Bytes per step from node to node, by the pattern; one entry for each ordered pair at most, in
/// the order of the pattern. Empty with fewer than two members. Transfers from a node to itself,
/// and of no bytes, are left out.
std::vector<Transfer> transfers_of(const Exchange& exchange);

/// Equal steps, one after the other. Exchanges of one step go on at the same time.
struct Stage {
  double compute_s = 0;         ///< Of one step, at least 0.
  double overlap = 0;           ///< Share of the exchange that may hide behind compute, 0 to 1.
  double local_exchange_s = 0;  ///< Of one step, inside nodes; no other job can slow it.
  std::vector<Exchange> exchanges;
  double steps = 1;  ///< Above 0; a part of a step is allowed.
  /// Many short steps: bytes flow evenly, at most as fast as the steps need them. Otherwise bytes
  /// flow as fast as they can from the beginning, beside the compute.
  bool paced = true;
};

/// Time of one step: compute, and what of the exchange cannot hide behind it,
/// compute + exchange - min(compute, overlap x exchange).
double step_seconds(double compute_s, double exchange_s, double overlap);

}  // namespace orrery::sim

template <>
struct orrery::EnumNames<orrery::sim::Pattern> {
  static constexpr std::array kNames{
      "ring", "tree", "broadcast", "chain", "all_to_all", "transfers"};
};
