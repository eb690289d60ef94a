// What workers that failed say of whose fault it was, and what follows of it.
#pragma once

#include <cstdint>

#include "core/membership/change.hpp"

namespace orrery {

/// Whose failure it is.
struct Verdict {
  Blame blame = Blame::Mine;  ///< Mine, Node or Peer.
  std::uint32_t teller = 0;   ///< Rank of the worker that failed and is believed.
  std::uint32_t root = 0;     ///< Rank that is charged: the teller, or with Peer whom it names.
};

/// Follows what the failed workers say, from `first` on (one of them): to the worker that it names,
/// and on as long as that one failed too and names another. Of a circle the lowest rank is the
/// root. Who says nothing, names itself, a sub-master or no worker of the job, or is a sub-master,
/// has failed by itself.
Verdict verdict_of(const JobState& job, const RankFlags& failed, std::uint32_t first);

/// Failed workers that blame their nodes and were to start again in place are to start on another
/// node instead, one by one, each if there is room on one now. Whether any does.
bool leave_blamed_nodes(Step& step, const JobState& job, MembershipChange& change);

/// "; it blames its node: text", "; it blames trainer 0"; empty where nothing was said.
std::string blame_in_words(const JobState& job, const Diagnosis& diagnosis);

}  // namespace orrery
