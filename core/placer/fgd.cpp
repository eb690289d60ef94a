#include "core/placer/fgd.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/math.hpp"
#include "core/placer/fragmentation.hpp"

namespace orrery {
namespace {

// 100 / (1 + e^-x), rounded down, by where it passes each whole number.
class LogisticScore {
 public:
  LogisticScore() {
    for (std::size_t s = 1; s < 100; ++s)
      passes_[s - 1] = math::log(static_cast<double>(s) / static_cast<double>(100 - s));
  }

  std::int64_t operator()(double x) const {
    return std::upper_bound(passes_.begin(), passes_.end(), x) - passes_.begin();
  }

 private:
  std::array<double, 99> passes_{};
};

const LogisticScore kLogistic;

// How a replica changes what nodes have to offer to the mix.
class Gradient : public PlainScore {
 public:
  explicit Gradient(const PlacementRequest& request)
      : request_(request), mix_(entries_of(request)) {}

  std::int64_t score(NodeId, const NodeFree& free, std::int32_t) const {
    return kLogistic(static_cast<double>(shrinks_by(free)) / unit_);
  }

  /// The part to take a share from, or 1000; of equally good ones the fullest.
  std::int32_t best_left(const NodeFree& free) const {
    std::int32_t best = 0;
    std::int64_t best_score = -1;
    each_option(free, [&](std::int32_t left, std::int64_t usable) {
      const std::int64_t score = kLogistic(static_cast<double>(shrinks_by(free, usable)) / unit_);
      if (score <= best_score) return;
      best_score = score;
      best = left;
    });
    return best;
  }

 private:
  using Row = Fragmentation::Row;

  std::span<const DemandMix::Entry> entries_of(const PlacementRequest& request) {
    if (request.mix != nullptr && !request.mix->entries().empty()) return request.mix->entries();
    own_.demand = request.demand;
    own_.jobs = 1;
    return {&own_, 1};
  }

  std::int64_t shrinks_by(const NodeFree& free, std::int64_t usable_after) const {
    return request_.demand.thousandths() * mix_.weight() -
           mix_.usable(free, mix_.row(free.model, free.cpu)) + usable_after;
  }

  std::int64_t shrinks_by(const NodeFree& free) const {
    if (is_share(request_.demand)) {
      std::int64_t most = std::numeric_limits<std::int64_t>::min();
      each_option(free, [&](std::int32_t, std::int64_t usable) { most = std::max(most, usable); });
      return shrinks_by(free, most);
    }
    const Row row = mix_.row(free.model, free.cpu - request_.demand.cpu);
    return shrinks_by(free,
                      mix_.usable_whole(free.devices - request_.demand.devices, row) +
                          mix_.usable_parts(free, row));
  }

  // Calls `option(left, usable)` for each way to take the share, the fullest device first.
  template <class Option>
  void each_option(const NodeFree& free, const Option& option) const {
    const std::int32_t share = request_.demand.share.thousandths;
    const Row row = mix_.row(free.model, free.cpu - request_.demand.cpu);
    const std::int64_t whole = mix_.usable_whole(free.devices, row);
    const std::int64_t parts = mix_.usable_parts(free, row);
    const auto from_part = [&](std::int32_t left) {
      if (left >= share)
        option(left,
               whole + parts - mix_.usable_part(left, row) + mix_.usable_part(left - share, row));
    };
    if (free.parts == nullptr && free.partial_max > 0) from_part(free.partial_max);
    std::int32_t before = 0;
    if (free.parts != nullptr)
      for (const std::int16_t left : *free.parts)
        if (left != before) from_part(before = left);
    if (free.devices > 0)
      option(
          1000,
          mix_.usable_whole(free.devices - 1, row) + parts + mix_.usable_part(1000 - share, row));
  }

  const PlacementRequest& request_;
  DemandMix::Entry own_;
  Fragmentation mix_;
  double unit_ = 1000.0 * static_cast<double>(mix_.weight());  // One device.
};

}  // namespace

Placer::Found Fgd::find(const PlacementRequest& request,
                        const FreeIndex& index,
                        std::vector<NodeCount>& nodes) const {
  return find_by(Gradient(request), TieOrder(request.seed), request, index, nodes);
}

std::int32_t Fgd::choose_share(const PlacementRequest& request,
                               NodeId,
                               const NodeFree& free) const {
  return Gradient(request).best_left(free);
}

}  // namespace orrery
