// Judges layouts without the code under test: what is wrong with one, and whether there is one.
#pragma once

#include <string>
#include <vector>

#include "core/vcluster/form.hpp"

namespace orrery::vcluster {

/// Everything wrong with what was formed, one line each; empty where every rule holds.
std::vector<std::string> faults_of(const std::vector<NodeOffer>& offers,
                                   const std::vector<BundleRequest>& requests,
                                   const std::vector<std::vector<BundlePlace>>& clusters);

/// Whether the requests can be placed at all, found by trying every node for every piece. With
/// `total`, all declared nodes are usable and free. For a handful of nodes and pieces.
bool can_be_placed(const std::vector<NodeOffer>& offers,
                   const std::vector<BundleRequest>& requests,
                   bool total);

/// Fewest and most nodes on which a single request can lie; found in the same way. {0, 0}: nowhere.
struct NodeRange {
  int fewest = 0;
  int most = 0;
};

NodeRange nodes_possible(const std::vector<NodeOffer>& offers, const BundleRequest& request);

}  // namespace orrery::vcluster
