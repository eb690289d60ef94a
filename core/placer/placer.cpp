#include "core/placer/placer.hpp"

#include <string>

namespace orrery {

Random PlacementRequest::stream() const {
  return Random::stream(
      seed, "placer/" + std::to_string(job.value) + "/" + std::to_string(generation.value));
}

Placer::Found Placer::find(const PlacementRequest&,
                           const FreeIndex&,
                           std::vector<NodeCount>&) const {
  return Found::NeedsTrial;
}

void Placer::take(const PlacementRequest& request,
                  CapacityTrial& trial,
                  const NodeCount& nodes) const {
  trial.take(nodes.node, request.demand, nodes.replicas);
}

vcluster::Forming Placer::form(std::span<const vcluster::NodeOffer> offers,
                               std::span<const vcluster::BundleRequest> requests) const {
  return vcluster::try_form(offers, requests);
}

bool Placer::take_found(const PlacementRequest& request,
                        CapacityTrial& trial,
                        std::vector<NodeCount>& nodes) const {
  const std::size_t begin = nodes.size();
  if (find(request, trial.index(), nodes) != Found::Place) return false;
  for (std::size_t i = begin; i < nodes.size(); ++i) take(request, trial, nodes[i]);
  return true;
}

bool find_place(const Placer& placer,
                const PlacementRequest& request,
                const FreeIndex& index,
                CapacityTrial& scratch,
                std::vector<NodeCount>& nodes) {
  const Placer::Found found = placer.find(request, index, nodes);
  if (found != Placer::Found::NeedsTrial) return found == Placer::Found::Place;
  scratch.sync(index);
  return placer.place(request, scratch, nodes);
}

}  // namespace orrery
