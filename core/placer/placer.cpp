#include "core/placer/placer.hpp"

#include <string>

namespace orrery {

Random PlacementRequest::stream() const {
  return Random::stream(
      seed, "placer/" + std::to_string(job.value) + "/" + std::to_string(generation.value));
}

vcluster::Forming Placer::form(std::span<const vcluster::NodeOffer> offers,
                               std::span<const vcluster::BundleRequest> requests) const {
  return vcluster::try_form(offers, requests);
}

}  // namespace orrery
