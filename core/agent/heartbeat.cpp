#include "core/agent/heartbeat.hpp"

#include <tuple>

namespace orrery {

WorkerList::WorkerList(std::vector<RunningWorker> workers) {
  if (workers.empty()) return;
  if (!std::is_sorted(workers.begin(), workers.end(), comes_before))
    std::sort(workers.begin(), workers.end(), comes_before);
  workers_ = std::make_shared<const std::vector<RunningWorker>>(std::move(workers));
}

bool WorkerList::contains(const RunningWorker& worker) const {
  return std::binary_search(begin(), end(), worker, comes_before);
}

bool comes_before(const RunningWorker& a, const RunningWorker& b) {
  return std::tie(a.job, a.generation, a.rank, a.incarnation) <
         std::tie(b.job, b.generation, b.rank, b.incarnation);
}

}  // namespace orrery
