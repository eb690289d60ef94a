// Places for the workers of a job: nodes for gangs, and whether they are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/membership/change.hpp"

namespace orrery {

/// Chooses nodes for every role of a job at these replicas of the elastic one; claims nothing.
/// `elastic_nodes` may fix where the elastic replicas go; a worker that has a seat goes there.
/// False where it does not fit.
bool find_places(Step& step,
                 const JobState& job,
                 std::int32_t replicas,
                 std::span<const NodeCount> elastic_nodes,
                 std::vector<Placed>& out);

/// Whether each node has room for the replicas named; no node may stand twice.
bool fits_there(const Ledger& ledger, const Demand& demand, std::span<const NodeCount> nodes);

/// Whether every node has ports for the new workers that it is to take (core/discovery).
bool ports_fit(const Ledger& ledger, const JobSpec& spec, std::span<const Placed> added);

/// The order in which new workers claim their places, as indices: seats before all else, so that
/// workers that fit anywhere leave them free; then, where parts of devices are asked for, the role
/// that a policy sizes. The search for places goes the same way: which parts are broken off first
/// decides whether the others still fit.
std::vector<std::size_t> claim_order(const State& state,
                                     const JobState& job,
                                     std::span<const Placed> added);

/// Claims one place; `Placed::seat` must be free, or the node have room.
LeaseId claim(Step& step, const JobState& job, const Placed& placed);

/// Whether all of it can be claimed one after the other, not only each by itself.
bool fits_together(Step& step, const JobState& job, const std::vector<Placed>& added);

/// A ledger to try claims on: all that is done to it is undone at the end. Copies the ledger, so it
/// is for the few decisions that must be exact before any job is disturbed.
class LedgerTrial {
 public:
  explicit LedgerTrial(Step& step)
      : step_(step), before_(std::move(step.state.scratch.ledger())), woken_(step.woken.size()) {
    before_ = step.state.ledger;
  }

  LedgerTrial(const LedgerTrial&) = delete;
  LedgerTrial& operator=(const LedgerTrial&) = delete;

  ~LedgerTrial() {
    std::swap(step_.state.ledger, before_);
    step_.state.scratch.ledger() = std::move(before_);
    step_.state.scratch.forget();
    step_.woken.resize(woken_);
  }

  /// Gives back what workers hold that go; `keep` by rank, 0: the worker goes. Empty: all go.
  void give_up(const JobState& job, std::span<const std::uint8_t> keep);

  /// Claims the places; they must fit together.
  void take(const JobState& job, std::span<const Placed> added);

 private:
  Step& step_;
  Ledger before_;
  std::size_t woken_;
};

/// Whether `added` fits together beside those who stay, once the others have given back what they
/// hold. Exact, where fits_together on the ledger of now does not know yet what comes free.
bool fits_after(Step& step, const JobState& job, const MembershipChange& change);

}  // namespace orrery
