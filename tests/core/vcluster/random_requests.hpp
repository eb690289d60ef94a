// Small random clusters, and virtual clusters to form on them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "tests/core/vcluster/builders.hpp"

namespace orrery::vcluster {

inline std::int32_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<std::int32_t>(random.between(low, high));
}

/// Up to five nodes with up to four devices, of up to two models, some not usable, some partly
/// taken, in domains and racks that do not follow each other.
inline std::vector<NodeOffer> random_offers(Random& random) {
  std::vector<NodeOffer> offers;
  const std::int32_t count = draw(random, 1, 5);
  for (std::int32_t i = 0; i < count; ++i) {
    NodeOffer offer;
    offer.node = NodeId{static_cast<std::uint32_t>(i)};
    offer.all_devices = mask_of(draw(random, 0, 4));
    offer.free_devices = offer.all_devices & (random.chance(0.6) ? ~0ULL : random.bits());
    if (offer.all_devices != 0)
      offer.model = DeviceModelId{static_cast<std::uint16_t>(random.chance(0.8) ? 0 : 1)};
    offer.cpu_total = MilliCpu{draw(random, 0, 8) * 1000};
    offer.cpu_free = MilliCpu{draw(random, 0, offer.cpu_total.count)};
    offer.memory_total = Bytes{draw(random, 2, 8)};
    offer.memory_free = random.chance(0.7) ? offer.memory_total : Bytes{draw(random, 0, 2)};
    offer.rack = draw(random, -1, 2);
    offer.nvlink_domain = draw(random, -1, 2);
    offer.usable = random.chance(0.85);
    offers.push_back(offer);
  }
  return offers;
}

inline VirtualClusterSpec random_cluster(Random& random,
                                         std::int32_t pieces_max,
                                         const char* name) {
  VirtualClusterSpec spec;
  spec.name = name;
  spec.unified = random.chance(0.4);
  spec.strategy = static_cast<BundleStrategy>(random.below(4));
  const bool equal = random.chance(0.6);
  const std::int32_t size = draw(random, 1, spec.unified ? 2 : 3);
  const std::int32_t nodes = draw(random, 1, spec.unified ? pieces_max / 2 : pieces_max);
  for (std::int32_t i = 0; i < nodes; ++i) {
    spec.bundles_per_node.push_back(equal || spec.unified ? size : draw(random, 1, 3));
    if (random.chance(0.1)) spec.bundles_per_node.push_back(0);
  }
  spec.devices_per_bundle = random.chance(0.7) ? 1 : draw(random, 0, 2);
  if (random.chance(0.3)) spec.cpu_per_bundle = MilliCpu{draw(random, 1, 2000)};
  if (random.chance(0.2)) spec.memory_per_bundle = Bytes{1};
  spec.max_worker_groups = draw(random, 1, 2);
  if (random.chance(0.5)) {
    spec.segment_by = random.chance(0.5) ? SegmentBy::NvlinkDomain : SegmentBy::Rack;
    spec.segment_size = draw(random, 0, nodes);
    const bool cuts = spec.segment_size > 0 && nodes % spec.segment_size == 0;
    if (!cuts || spec.strategy == BundleStrategy::StrictPack) spec.segment_size = 0;
  }
  return spec;
}

/// One cluster and what a job asks of it.
struct Draw {
  std::vector<NodeOffer> offers;
  std::vector<VirtualClusterSpec> specs;
  std::vector<BundleRequest> requests;

  explicit Draw(std::uint64_t seed, std::int32_t requests_max = 2) {
    Random random = Random::stream(seed, "vcluster");
    offers = random_offers(random);
    const std::int32_t count = random.chance(0.6) ? 1 : requests_max;
    for (std::int32_t i = 0; i < count; ++i)
      specs.push_back(random_cluster(random, count == 1 ? 6 : 4, i == 0 ? "train" : "gen"));
    for (const VirtualClusterSpec& spec : specs) {
      BundleRequest request{&spec, DeviceModelId::none()};
      if (random.chance(0.4))
        request.model = DeviceModelId{static_cast<std::uint16_t>(random.below(2))};
      requests.push_back(request);
    }
  }
};

}  // namespace orrery::vcluster
