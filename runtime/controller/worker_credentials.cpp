#include "runtime/controller/worker_credentials.hpp"

#include <algorithm>

#include "core/leader/own_reports.hpp"

namespace orrery::runtime {
namespace {

// The worker while it lives; null else.
const Worker* living_worker(const WorkerName& name, const State& state) {
  const JobState* job = state.find(name.job);
  if (job == nullptr) return nullptr;
  for (const Worker& worker : job->workers)
    if (worker.incarnation == name.incarnation && worker.birth_rank == name.birth_rank)
      return worker.is_alive() ? &worker : nullptr;
  return nullptr;
}

}  // namespace

void WorkerCredentials::learn(NodeId node, const WorkerTokens& told, const State& state) {
  for (const WorkerToken& each : told.tokens) {
    const WorkerName name{each.job, each.incarnation, each.birth_rank};
    const Worker* worker = living_worker(name, state);
    if (worker == nullptr || !is_own(node, worker->node) ||
        !each.token.starts_with(kWorkerTokenPrefix))
      continue;
    owners_.emplace(each.token, name);
    if (each.port > 0) endpoints_[name] = {each.token, each.port, each.certificate};
  }
  forget_ended(state);
}

std::optional<WorkerName> WorkerCredentials::owner(const std::string& token,
                                                   const State& state) const {
  const auto found = owners_.find(token);
  if (found == owners_.end() || living_worker(found->second, state) == nullptr) return std::nullopt;
  return found->second;
}

const CallEndpoint* WorkerCredentials::endpoint(const WorkerName& worker) const {
  const auto found = endpoints_.find(worker);
  return found == endpoints_.end() ? nullptr : &found->second;
}

// Now and then: what is told for each start is forgotten for each end.
void WorkerCredentials::forget_ended(const State& state) {
  if (owners_.size() < forget_at_) return;
  std::erase_if(owners_,
                [&](const auto& each) { return living_worker(each.second, state) == nullptr; });
  std::erase_if(endpoints_,
                [&](const auto& each) { return living_worker(each.first, state) == nullptr; });
  forget_at_ = std::max<std::size_t>(1024, 2 * owners_.size());
}

}  // namespace orrery::runtime
