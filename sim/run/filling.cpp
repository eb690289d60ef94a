#include "sim/run/filling.hpp"

#include <algorithm>
#include <numeric>

namespace orrery::sim {

std::vector<std::size_t> filling_order(std::span<const TraceJob> jobs,
                                       double fill,
                                       std::int64_t devices,
                                       Random random) {
  std::vector<std::size_t> all(jobs.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::ranges::stable_sort(
      all, [&](std::size_t a, std::size_t b) { return jobs[a].name < jobs[b].name; });
  std::vector<std::size_t> order = all;
  random.shuffle(order);
  const auto target = static_cast<std::int64_t>(fill * 1000 * static_cast<double>(devices));
  std::int64_t asked = 0;
  for (const std::size_t i : order) asked += jobs[i].gpu_milli;
  while (asked > target && !order.empty()) {
    const auto gone = order.begin() + static_cast<std::ptrdiff_t>(random.below(order.size()));
    asked -= jobs[*gone].gpu_milli;
    order.erase(gone);
  }
  if (order.size() < all.size() || asked == 0) return order;
  while (true) {
    const std::size_t next = all[random.below(all.size())];
    const TraceJob& job = jobs[next];
    if (asked + (job.gpus > 0 ? job.gpu_milli / job.gpus : 0) > target) return order;
    asked += job.gpu_milli;
    order.push_back(next);
  }
}

}  // namespace orrery::sim
