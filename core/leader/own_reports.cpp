#include "core/leader/own_reports.hpp"

#include <algorithm>

#include "core/base/coverage_mark.hpp"

namespace orrery {
namespace {

bool refused() {
  reached(Mark::LeaderRejectedReport);
  return false;
}

// Of an unknown worker: late, or made up.
bool can_be_late(const JobState& job, Generation generation, Incarnation incarnation) {
  return generation <= job.row.generation && incarnation <= job.incarnation;
}

bool job_can_be_late(const State& state, JobId job) { return job < state.next_job(); }

}  // namespace

bool take_own(const State& state,
              NodeId node,
              const WorkersChanged& report,
              std::vector<WorkersChanged>& own) {
  const JobState* job = state.find(report.job);
  if (job == nullptr) {
    if (!job_can_be_late(state, report.job)) return refused();
    own.push_back(report);
    return true;
  }
  const auto counts = [&](std::uint32_t i) {
    const Worker* worker =
        worker_named(*job, report.generation, report.incarnation, Rank{report.first.value + i});
    return worker != nullptr ? worker->node == node
                             : can_be_late(*job, report.generation, report.incarnation);
  };
  // No job has more workers than it has been granted; a longer run is made up.
  const std::uint32_t count = std::min<std::uint32_t>(report.count, 1U << 20);
  bool all = report.count == count;
  for (std::uint32_t i = 0; i < count;) {
    if (!counts(i)) {
      all = false;
      ++i;
      continue;
    }
    std::uint32_t end = i + 1;
    while (end < count && counts(end)) ++end;
    WorkersChanged& run = own.emplace_back(report);
    run.first = Rank{report.first.value + i};
    run.count = end - i;
    i = end;
  }
  return all || refused();
}

bool is_own(const State& state, NodeId node, const ProfilingChanged& measured) {
  const JobState* job = state.find(measured.job);
  if (job == nullptr || is_final(job->row.phase) || measured.generation != job->row.generation)
    return false;
  if (measured.rank.index() >= job->workers.size()) return refused();
  return job->workers[measured.rank.index()].node == node || refused();
}

bool is_own(const State& state,
            NodeId node,
            const ProgressReported& progress,
            const std::vector<NodeId>& asked) {
  const JobState* job = state.find(progress.job);
  if (job == nullptr) return job_can_be_late(state, progress.job) || refused();
  if (progress.generation != job->row.generation)
    return progress.generation < job->row.generation || refused();
  const bool is_there = std::any_of(job->workers.begin(),
                                    job->workers.end(),
                                    [&](const Worker& worker) { return worker.node == node; });
  if (is_there) return true;
  // The last word of workers that are gone comes late where their node was out of contact.
  const bool was_there =
      job->workers.empty() && std::binary_search(asked.begin(), asked.end(), node);
  return was_there || refused();
}

bool is_own(const State& state, NodeId node, const SubMasterSaid& said) {
  const JobState* job = state.find(said.job);
  if (job == nullptr) return job_can_be_late(state, said.job) || refused();
  for (const Worker& worker : job->workers)
    if (worker.incarnation == said.incarnation &&
        job->spec->roles[worker.role.index()].master_of == said.role)
      return worker.node == node || refused();
  return said.incarnation <= job->incarnation || refused();
}

bool is_own(const State& state, NodeId node, const FailureExplained& explained) {
  const JobState* job = state.find(explained.job);
  if (job == nullptr) return refused();
  const auto is_it = [&](const auto& each) {
    return each.incarnation == explained.incarnation && each.birth_rank == explained.birth_rank;
  };
  if (const auto worker = std::find_if(job->workers.begin(), job->workers.end(), is_it);
      worker != job->workers.end())
    return worker->node == node || refused();
  const auto failure = std::find_if(job->failures->begin(), job->failures->end(), is_it);
  return (failure != job->failures->end() && failure->node == node) || refused();
}

bool is_own(NodeId node, NodeId named) { return node == named || refused(); }

}  // namespace orrery
