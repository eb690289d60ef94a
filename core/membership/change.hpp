// A change of membership in words of workers: who stays, who starts anew, who is added.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/state/step.hpp"

namespace orrery {

/// So many new workers of a role on one node.
struct Placed {
  RoleIndex role;
  NodeCount at;
  std::optional<Seat> seat = std::nullopt;  ///< Exactly where the one worker sits; else anywhere.
  JobId beside = JobId::none();             ///< With a seat: the job whose devices it has.
};

/// A change of membership: workers with `keep[rank] == 0` are stopped, `replace[rank] != 0`
/// are started again in place (their lease goes on), `added` are claimed beside. The capacity of
/// `added` must be free after `release_dropped` was called.
struct MembershipChange {
  std::vector<std::uint8_t> keep;     ///< Per present rank.
  std::vector<std::uint8_t> replace;  ///< Per present rank; wins over `keep`.
  std::vector<Placed> added;
};

/// In `JobState::next_from`: a worker that starts with the next membership.
inline constexpr std::uint32_t kNew = UINT32_MAX;

/// One flag per rank.
using RankFlags = std::vector<std::uint8_t>;

/// Which present ranks have a place in the next membership: those kept and those replaced.
RankFlags present_after(const MembershipChange& change);

/// The order that starts a member of the present generation.
WorkerStart start_of(const JobState& job, std::uint32_t rank);

/// The order that stops a worker of this rank.
WorkerStop stop_of(const Worker& worker, std::uint32_t rank);

/// The successor of a worker, started in place: the lease goes over to it, with its ports of now.
Worker successor_of(const Ledger& ledger, Worker& worker);

/// Whether the worker, if it stays in a membership that changes by decision, has to start anew: all
/// do under `rescale: restart`, and under `auto` those that cannot be told of the change.
bool must_start_anew(const JobState& job, const Worker& worker);

/// Whether the worker has ended, keeps its place, and cannot start again there, since the node
/// takes no workers: one that failed and was set aside until the end before its node was lost.
bool is_stranded(const State& state, const Worker& worker);

}  // namespace orrery
