// Placement on the nodes with the most free GPUs, as Tiresias and Optimus share it.
#pragma once

#include <vector>

namespace orrery::policies {

/// GPUs taken on one node.
struct NodeGpus {
  int node = 0;
  int gpus = 0;

  friend bool operator==(const NodeGpus&, const NodeGpus&) = default;
};

/// Takes `gpus` GPUs, always from the node with the most free ones (the lower index of equal ones),
/// all of that node or what is still wanted. Returns the nodes in the order of taking, which is the
/// order of ranks. `free_gpus` (by node) holds as many in all and is reduced.
std::vector<NodeGpus> take_most_free(std::vector<int>& free_gpus, int gpus);

}  // namespace orrery::policies
