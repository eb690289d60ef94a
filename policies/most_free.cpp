#include "policies/most_free.hpp"

#include <algorithm>

#include "core/base/invariant.hpp"

namespace orrery::policies {

std::vector<NodeGpus> take_most_free(std::vector<int>& free_gpus, int gpus) {
  std::vector<NodeGpus> taken;
  while (gpus > 0) {
    const auto fullest = std::max_element(free_gpus.begin(), free_gpus.end());
    invariant(fullest != free_gpus.end() && *fullest > 0, "enough GPUs are free to take");
    const int here = std::min(*fullest, gpus);
    taken.push_back({static_cast<int>(fullest - free_gpus.begin()), here});
    *fullest -= here;
    gpus -= here;
  }
  return taken;
}

}  // namespace orrery::policies
