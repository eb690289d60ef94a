// Small clusters and virtual clusters for tests.
#pragma once

#include <bit>
#include <map>
#include <string>
#include <vector>

#include "core/vcluster/form.hpp"

namespace orrery::vcluster {

inline constexpr MilliCpu kNodeCpu{64'000};
inline constexpr Bytes kNodeMemory{std::int64_t{512} << 30};

inline std::uint64_t mask_of(std::int32_t devices) {
  return devices >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << devices) - 1;
}

/// `count` usable nodes with `devices` devices each, all free, appended to `offers`. Domains and
/// racks of `domain` nodes each, numbered through; 0: none declared.
inline void add_nodes(std::vector<NodeOffer>& offers,
                      std::int32_t count,
                      std::int32_t devices,
                      std::int32_t domain = 0,
                      std::uint16_t model = 0) {
  const std::int32_t zones = offers.empty() ? 0 : offers.back().nvlink_domain + 1;
  for (std::int32_t i = 0; i < count; ++i) {
    NodeOffer offer;
    offer.node = NodeId{static_cast<std::uint32_t>(offers.size())};
    offer.free_devices = offer.all_devices = mask_of(devices);
    offer.model = devices > 0 ? DeviceModelId{model} : DeviceModelId::none();
    offer.cpu_free = offer.cpu_total = kNodeCpu;
    offer.memory_free = offer.memory_total = kNodeMemory;
    if (domain > 0) offer.rack = offer.nvlink_domain = zones + i / domain;
    offers.push_back(offer);
  }
}

inline std::vector<NodeOffer> nodes(std::int32_t count,
                                    std::int32_t devices,
                                    std::int32_t domain = 0) {
  std::vector<NodeOffer> offers;
  add_nodes(offers, count, devices, domain);
  return offers;
}

/// Only the lowest `left` devices of the node stay free.
inline void leave_free(NodeOffer& offer, std::int32_t left) {
  offer.free_devices = offer.all_devices & mask_of(left);
}

inline VirtualClusterSpec cluster(std::vector<std::int32_t> bundles,
                                  BundleStrategy strategy = BundleStrategy::Pack) {
  VirtualClusterSpec spec;
  spec.name = "train";
  spec.bundles_per_node = std::move(bundles);
  spec.strategy = strategy;
  return spec;
}

inline VirtualClusterSpec unified(std::int32_t bundles,
                                  BundleStrategy strategy = BundleStrategy::Pack) {
  VirtualClusterSpec spec = cluster({bundles}, strategy);
  spec.unified = true;
  return spec;
}

inline Forming form_one(const std::vector<NodeOffer>& offers,
                        const VirtualClusterSpec& spec,
                        DeviceModelId model = DeviceModelId::none()) {
  const BundleRequest request{&spec, model};
  return form(offers, {&request, 1});
}

/// Node of each bundle, in rank order.
inline std::vector<std::uint32_t> nodes_of(const std::vector<BundlePlace>& places) {
  std::vector<std::uint32_t> out;
  for (const BundlePlace& place : places) out.push_back(place.node.value);
  return out;
}

/// Nodes in the order of their first bundle, each with its number of bundles.
inline std::vector<std::pair<std::uint32_t, int>> counts_of(
    const std::vector<BundlePlace>& places) {
  std::vector<std::pair<std::uint32_t, int>> out;
  for (const BundlePlace& place : places) {
    if (out.empty() || out.back().first != place.node.value) out.push_back({place.node.value, 0});
    ++out.back().second;
  }
  return out;
}

}  // namespace orrery::vcluster
