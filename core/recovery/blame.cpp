#include "core/recovery/blame.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "core/membership/places.hpp"
#include "core/membership/placing.hpp"

namespace orrery {
namespace {

constexpr std::uint32_t kNoWorker = UINT32_MAX;

bool is_master(const JobState& job, const Worker& worker) {
  return !job.spec->roles[worker.role.index()].master_of.is_none();
}

// The rank of another worker that this one names.
std::uint32_t named_by(const JobState& job, std::uint32_t rank) {
  const Diagnosis& said = *job.workers[rank].diagnosis;
  if (said.blame != Blame::Peer) return kNoWorker;
  const auto named =
      std::find_if(job.workers.begin(), job.workers.end(), [&](const Worker& worker) {
        return worker.role == said.role && worker.local_rank == said.rank;
      });
  if (named == job.workers.end() || is_master(job, *named)) return kNoWorker;
  const auto other = static_cast<std::uint32_t>(named - job.workers.begin());
  return other == rank ? kNoWorker : other;
}

}  // namespace

Verdict verdict_of(const JobState& job, const RankFlags& failed, std::uint32_t first) {
  std::vector<std::uint32_t> path;
  std::uint32_t at = first;
  while (true) {
    const bool heard = !is_master(job, job.workers[at]);
    if (heard && job.workers[at].diagnosis->blame == Blame::Node) return {Blame::Node, at, at};
    const std::uint32_t named = heard ? named_by(job, at) : kNoWorker;
    if (named == kNoWorker) return {Blame::Mine, at, at};
    if (failed[named] == 0) return {Blame::Peer, at, named};
    path.push_back(at);
    const auto circle = std::find(path.begin(), path.end(), named);
    if (circle != path.end()) {
      const std::uint32_t lowest = *std::min_element(circle, path.end());
      return {Blame::Mine, lowest, lowest};
    }
    at = named;
  }
}

bool leave_blamed_nodes(Step& step, const JobState& job, MembershipChange& change) {
  bool any = false;
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
    const Worker& worker = job.workers[rank];
    const bool blames = change.replace[rank] != 0 && worker.state == WorkerState::Failed &&
                        worker.diagnosis->blame == Blame::Node;
    // A worker that was given its seat stays there.
    if (!blames || is_master(job, worker) || job.spec->roles[worker.role.index()].is_seated())
      continue;
    std::vector<NodeCount> nodes;
    if (!find_nodes(step, job, demand_of(step, job, worker.role), 1, nodes, worker.node)) continue;
    change.added.push_back({worker.role, nodes.front()});
    if (!fits_together(step, job, change.added)) {
      change.added.pop_back();
      continue;
    }
    change.replace[rank] = 0;
    change.keep[rank] = 0;
    any = true;
  }
  return any;
}

std::string blame_in_words(const JobState& job, const Diagnosis& diagnosis) {
  std::string out;
  switch (diagnosis.blame) {
    case Blame::None:
      return out;
    case Blame::Mine:
      out = "; it blames itself";
      break;
    case Blame::Node:
      out = "; it blames its node";
      break;
    case Blame::Peer:
      out = "; it blames " + (diagnosis.role.index() < job.role_count()
                                  ? job.spec->roles[diagnosis.role.index()].name + " " +
                                        std::to_string(diagnosis.rank)
                                  : "a worker that its job does not have");
      break;
  }
  return diagnosis.message.empty() ? out : out + ": " + diagnosis.message;
}

}  // namespace orrery
