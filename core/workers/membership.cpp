#include "core/workers/membership.hpp"

#include <map>

namespace orrery::workers {

std::vector<PeerPlace> places_of(std::span<const std::int32_t> node_by_rank) {
  struct NodeOfWorld {
    std::int32_t index = 0;
    std::int32_t workers = 0;
  };

  std::map<std::int32_t, NodeOfWorld> nodes;
  std::vector<PeerPlace> out;
  out.reserve(node_by_rank.size());
  for (const std::int32_t number : node_by_rank) {
    const auto [at, is_new] = nodes.try_emplace(number);
    if (is_new) at->second.index = static_cast<std::int32_t>(nodes.size()) - 1;
    PeerPlace place;
    place.rank = static_cast<std::int32_t>(out.size());
    place.node = at->second.index;
    place.local_rank = at->second.workers++;
    out.push_back(place);
  }
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    out[rank].size = static_cast<std::int32_t>(out.size());
    out[rank].nodes = static_cast<std::int32_t>(nodes.size());
    out[rank].local_size = nodes.at(node_by_rank[rank]).workers;
  }
  return out;
}

LocalPlace local_place(const DeviceView& devices, const PeerPlace& place) {
  if (devices.assigned.empty()) return {place.local_rank, place.local_size};
  if (devices.sight == Sight::Own) return {0, 1};
  return {devices.in_process.front(), place.local_size};
}

}  // namespace orrery::workers
