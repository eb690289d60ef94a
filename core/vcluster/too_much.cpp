// Cheap proofs that needs cannot be placed, before a search looks for a way.

#include <algorithm>
#include <functional>

#include "core/vcluster/need.hpp"

namespace orrery::vcluster {
namespace {

// Whether for `need` by itself there is too little, or no node for its largest piece.
bool is_short(const Need& need, std::span<const Room> rooms) {
  const std::int32_t largest =
      need.alike ? need.piece
                 : *std::max_element(need.logical_nodes.begin(), need.logical_nodes.end());
  const std::vector<DeviceModelId> models = models_for(need, rooms);
  return std::none_of(models.begin(), models.end(), [&](DeviceModelId model) {
    std::int64_t sum = 0;
    std::int32_t most = 0;
    for (const Room& room : rooms) {
      if (!need.may_use(room, model)) continue;
      const std::int32_t fit = need.fit(room);
      sum += fit;
      most = std::max(most, fit);
    }
    return sum >= need.bundles && most >= largest;
  });
}

// Devices of every piece of all needs, the most first.
std::vector<std::int32_t> piece_devices(std::span<const Need* const> needs) {
  std::vector<std::int32_t> out;
  for (const Need* need : needs) {
    if (need->alike)
      out.insert(out.end(), static_cast<std::size_t>(need->pieces), need->piece * need->devices);
    for (std::size_t i = 0; !need->alike && i < need->logical_nodes.size(); ++i)
      out.push_back(need->logical_nodes[i] * need->devices);
  }
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

}  // namespace

bool too_much(std::span<const Need* const> needs, std::span<const Room> rooms) {
  for (const Need* need : needs)
    if (is_short(*need, rooms)) return true;
  const std::vector<std::int32_t> pieces = piece_devices(needs);
  std::int64_t devices = 0;
  for (const std::int32_t n : pieces) devices += n;
  for (const Room& room : rooms) devices -= room.devices;
  if (devices > 0) return true;
  // Of the pieces with at least some number of devices there can be no more than the times that
  // this number fits into rooms.
  for (std::size_t i = 0; i < pieces.size() && pieces[i] > 0; ++i) {
    if (i + 1 < pieces.size() && pieces[i + 1] == pieces[i]) continue;
    std::int64_t times = 0;
    for (const Room& room : rooms) times += room.devices / pieces[i];
    if (times < static_cast<std::int64_t>(i) + 1) return true;
  }
  return false;
}

}  // namespace orrery::vcluster
