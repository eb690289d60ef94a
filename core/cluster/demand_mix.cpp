#include "core/cluster/demand_mix.hpp"

#include <algorithm>
#include <tuple>

#include "core/base/invariant.hpp"

namespace orrery {
namespace {

auto key_of(const Demand& demand) {
  return std::tuple(demand.devices,
                    demand.share.thousandths,
                    demand.model,
                    demand.cpu.count,
                    demand.memory.count);
}

template <class Entries>
auto place_of(Entries& entries, const Demand& demand) {
  return std::lower_bound(
      entries.begin(), entries.end(), demand, [](const DemandMix::Entry& entry, const Demand& d) {
        return key_of(entry.demand) < key_of(d);
      });
}

}  // namespace

void DemandMix::add(const Demand& demand) {
  const auto place = place_of(entries_, demand);
  if (place != entries_.end() && key_of(place->demand) == key_of(demand)) {
    ++place->jobs;
  } else {
    entries_.insert(place, {demand, 1});
  }
}

void DemandMix::remove(const Demand& demand) {
  const auto place = place_of(entries_, demand);
  invariant(place != entries_.end() && key_of(place->demand) == key_of(demand),
            "a demand leaves the mix that has entered it");
  if (--place->jobs == 0) entries_.erase(place);
}

}  // namespace orrery
