#include "tests/core/vcluster/layout_checker.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

namespace orrery::vcluster {
namespace {

std::vector<std::int32_t> logical_nodes(const VirtualClusterSpec& spec) {
  std::vector<std::int32_t> out;
  for (const std::int32_t n : spec.bundles_per_node)
    if (n > 0) out.push_back(n);
  return out;
}

std::int32_t zone_of(const VirtualClusterSpec& spec, const NodeOffer& offer) {
  if (spec.segment_by == SegmentBy::Rack) return offer.rack;
  return spec.segment_by == SegmentBy::NvlinkDomain ? offer.nvlink_domain : 0;
}

// Logical nodes of one segment.
std::size_t segment_nodes(const VirtualClusterSpec& spec) {
  return spec.segment_size > 0 ? static_cast<std::size_t>(spec.segment_size)
                               : logical_nodes(spec).size();
}

using Places = std::vector<BundlePlace>;
using Faults = std::vector<std::string>;

void judge_devices(const std::vector<NodeOffer>& offers,
                   const BundleRequest& request,
                   const Places& places,
                   Faults& faults) {
  std::set<DeviceModelId> models;
  for (const BundlePlace& place : places) {
    const NodeOffer& offer = offers[place.node.index()];
    if (!offer.usable) faults.push_back("a node is not usable");
    if (std::popcount(place.devices) != request.spec->devices_per_bundle)
      faults.push_back("a bundle has the wrong number of devices");
    if ((place.devices & ~offer.free_devices) != 0) faults.push_back("a device is not free");
    if (place.devices != 0) models.insert(offer.model);
  }
  if (models.size() > 1) faults.push_back("two models in one virtual cluster");
  if (!request.model.is_none() && !models.empty() && !models.contains(request.model))
    faults.push_back("another model than was asked for");
}

void judge_strategy(const VirtualClusterSpec& spec, const Places& places, Faults& faults) {
  std::map<std::int32_t, std::set<NodeId>> of_logical;
  std::map<NodeId, std::set<std::int32_t>> on_node;
  std::map<NodeId, int> bundles;
  for (const BundlePlace& place : places) {
    of_logical[place.logical_node].insert(place.node);
    on_node[place.node].insert(place.logical_node);
    ++bundles[place.node];
  }
  for (const auto& [logical, at] : of_logical)
    if (at.size() > 1) faults.push_back("a logical node straddles nodes");
  if (spec.strategy == BundleStrategy::StrictPack && on_node.size() > 1)
    faults.push_back("strict_pack lies on several nodes");
  if (spec.strategy != BundleStrategy::StrictSpread) return;
  for (const auto& [node, logical] : on_node)
    if (spec.unified ? bundles[node] > 1 : logical.size() > 1)
      faults.push_back("strict_spread shares a node");
}

void judge_segments(const std::vector<NodeOffer>& offers,
                    const VirtualClusterSpec& spec,
                    const Places& places,
                    Faults& faults) {
  if (spec.segment_by == SegmentBy::None) return;
  const std::vector<std::int32_t> sizes = logical_nodes(spec);
  std::map<std::size_t, std::set<std::int32_t>> zones;
  std::vector<std::size_t> segment_of_rank;  // Unified: segments follow one another in rank order.
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (std::int32_t k = 0; k < sizes[i]; ++k) segment_of_rank.push_back(i / segment_nodes(spec));
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const BundlePlace& place = places[rank];
    const std::size_t segment =
        spec.unified ? segment_of_rank[rank]
                     : static_cast<std::size_t>(place.logical_node) / segment_nodes(spec);
    zones[segment].insert(zone_of(spec, offers[place.node.index()]));
  }
  for (const auto& [segment, in] : zones) {
    if (in.contains(-1)) faults.push_back("a segment lies where no zone is declared");
    if (in.size() > 1) faults.push_back("a segment lies in two zones");
  }
}

// Ranks of a node stand together, ascending by device, and every bundle stands once.
void judge_order(const VirtualClusterSpec& spec, const Places& places, Faults& faults) {
  std::set<NodeId> left;
  std::set<std::pair<std::int32_t, std::int32_t>> bundles;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!bundles.insert({places[i].logical_node, places[i].bundle}).second)
      faults.push_back("a bundle stands twice");
    if (i == 0) continue;
    if (places[i].node == places[i - 1].node) {
      if (places[i].devices != 0 &&
          std::countr_zero(places[i].devices) < std::countr_zero(places[i - 1].devices))
        faults.push_back("devices descend on a node");
      continue;
    }
    left.insert(places[i - 1].node);
    if (left.contains(places[i].node)) faults.push_back("ranks of two nodes interleave");
    if (spec.unified && places[i].logical_node != places[i - 1].logical_node + 1)
      faults.push_back("nodes are not numbered by first appearance");
  }
  const std::vector<std::int32_t> sizes = logical_nodes(spec);
  std::map<std::int32_t, std::int32_t> count;
  for (const BundlePlace& place : places)
    count[place.logical_node] = std::max(count[place.logical_node], place.bundle + 1);
  std::int32_t sum = 0;
  for (const auto& [logical, n] : count) {
    sum += n;
    if (!spec.unified && (logical >= static_cast<std::int32_t>(sizes.size()) ||
                          n != sizes[static_cast<std::size_t>(logical)]))
      faults.push_back("a logical node has the wrong number of bundles");
  }
  std::int32_t wanted = 0;
  for (const std::int32_t n : sizes) wanted += n;
  if (sum != wanted || static_cast<std::int32_t>(places.size()) != wanted)
    faults.push_back("bundles are missing");
}

// Nothing is given twice and nothing that is not there.
void judge_conservation(const std::vector<NodeOffer>& offers,
                        const std::vector<BundleRequest>& requests,
                        const std::vector<Places>& clusters,
                        Faults& faults) {
  std::vector<std::uint64_t> taken(offers.size(), 0);
  std::vector<std::int64_t> cpu(offers.size(), 0);
  std::vector<std::int64_t> memory(offers.size(), 0);
  for (std::size_t r = 0; r < clusters.size(); ++r) {
    const VirtualClusterSpec& spec = *requests[r].spec;
    for (const BundlePlace& place : clusters[r]) {
      const std::size_t n = place.node.index();
      if ((taken[n] & place.devices) != 0) faults.push_back("a device is given twice");
      taken[n] |= place.devices;
      cpu[n] += spec.cpu_per_bundle.count * spec.max_worker_groups;
      memory[n] += spec.memory_per_bundle.count * spec.max_worker_groups;
    }
  }
  for (std::size_t n = 0; n < offers.size(); ++n) {
    if (cpu[n] > 0 && cpu[n] > offers[n].cpu_free.count) faults.push_back("cpu is given twice");
    if (memory[n] > 0 && memory[n] > offers[n].memory_free.count)
      faults.push_back("memory is given twice");
  }
}

// One thing that must lie on one node, for the search through everything.
struct Piece {
  std::size_t request;
  std::size_t segment;
  std::int32_t bundles;
};

class Everything {
 public:
  Everything(const std::vector<NodeOffer>& offers,
             const std::vector<BundleRequest>& requests,
             bool total)
      : offers_(offers), requests_(requests) {
    for (const NodeOffer& o : offers) {
      const bool counts = total || o.usable;
      devices_.push_back(counts ? std::popcount(total ? o.all_devices : o.free_devices) : -1);
      cpu_.push_back(total ? o.cpu_total.count : o.cpu_free.count);
      memory_.push_back(total ? o.memory_total.count : o.memory_free.count);
    }
    for (std::size_t r = 0; r < requests.size(); ++r) cut(r);
    at_.resize(pieces_.size());
  }

  /// Calls `found` with the nodes of all pieces for every layout until it returns true.
  bool visit(const std::function<bool(const std::vector<std::size_t>&)>& found,
             std::size_t piece = 0) {
    if (piece == pieces_.size()) return found(at_);
    for (std::size_t n = 0; n < offers_.size(); ++n) {
      if (!may(piece, n)) continue;
      take(piece, n, 1);
      at_[piece] = n;
      const bool done = visit(found, piece + 1);
      take(piece, n, -1);
      if (done) return true;
    }
    return false;
  }

 private:
  void cut(std::size_t r) {
    const VirtualClusterSpec& spec = *requests_[r].spec;
    const std::vector<std::int32_t> sizes = logical_nodes(spec);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t segment = i / segment_nodes(spec);
      if (!spec.unified) pieces_.push_back({r, segment, sizes[i]});
      for (std::int32_t k = 0; spec.unified && k < sizes[i]; ++k)
        pieces_.push_back({r, segment, 1});
    }
  }

  bool may(std::size_t p, std::size_t n) const {
    const Piece& piece = pieces_[p];
    const VirtualClusterSpec& spec = *requests_[piece.request].spec;
    const std::int64_t b = piece.bundles;
    if (devices_[n] < 0 || b * spec.devices_per_bundle > devices_[n]) return false;
    const std::int64_t cpu = b * spec.cpu_per_bundle.count * spec.max_worker_groups;
    const std::int64_t memory = b * spec.memory_per_bundle.count * spec.max_worker_groups;
    if ((cpu > 0 && cpu > cpu_[n]) || (memory > 0 && memory > memory_[n])) return false;
    if (zone_of(spec, offers_[n]) < 0) return false;
    const DeviceModelId wanted = requests_[piece.request].model;
    const bool has_devices = spec.devices_per_bundle > 0;
    if (has_devices && !wanted.is_none() && offers_[n].model != wanted) return false;
    for (std::size_t q = 0; q < p; ++q) {
      if (pieces_[q].request != piece.request) continue;
      const std::size_t m = at_[q];
      if (spec.strategy == BundleStrategy::StrictPack && m != n) return false;
      if (spec.strategy == BundleStrategy::StrictSpread && m == n) return false;
      if (has_devices && offers_[m].model != offers_[n].model) return false;
      if (pieces_[q].segment == piece.segment &&
          zone_of(spec, offers_[m]) != zone_of(spec, offers_[n]))
        return false;
    }
    return true;
  }

  void take(std::size_t p, std::size_t n, std::int64_t sign) {
    const VirtualClusterSpec& spec = *requests_[pieces_[p].request].spec;
    const std::int64_t b = sign * pieces_[p].bundles;
    devices_[n] -= b * spec.devices_per_bundle;
    cpu_[n] -= b * spec.cpu_per_bundle.count * spec.max_worker_groups;
    memory_[n] -= b * spec.memory_per_bundle.count * spec.max_worker_groups;
  }

  const std::vector<NodeOffer>& offers_;
  const std::vector<BundleRequest>& requests_;
  std::vector<std::int64_t> devices_;
  std::vector<std::int64_t> cpu_;
  std::vector<std::int64_t> memory_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> at_;
};

}  // namespace

std::vector<std::string> faults_of(const std::vector<NodeOffer>& offers,
                                   const std::vector<BundleRequest>& requests,
                                   const std::vector<std::vector<BundlePlace>>& clusters) {
  Faults faults;
  if (clusters.size() != requests.size()) return {"a virtual cluster is missing"};
  for (std::size_t r = 0; r < requests.size(); ++r) {
    judge_devices(offers, requests[r], clusters[r], faults);
    judge_strategy(*requests[r].spec, clusters[r], faults);
    judge_segments(offers, *requests[r].spec, clusters[r], faults);
    judge_order(*requests[r].spec, clusters[r], faults);
  }
  judge_conservation(offers, requests, clusters, faults);
  return faults;
}

bool can_be_placed(const std::vector<NodeOffer>& offers,
                   const std::vector<BundleRequest>& requests,
                   bool total) {
  return Everything(offers, requests, total).visit([](const auto&) { return true; });
}

NodeRange nodes_possible(const std::vector<NodeOffer>& offers, const BundleRequest& request) {
  NodeRange range;
  const std::vector<BundleRequest> requests{request};
  Everything(offers, requests, false).visit([&](const std::vector<std::size_t>& at) {
    const int count = static_cast<int>(std::set(at.begin(), at.end()).size());
    if (range.most == 0 || count < range.fewest) range.fewest = count;
    range.most = std::max(range.most, count);
    return false;
  });
  return range;
}

}  // namespace orrery::vcluster
