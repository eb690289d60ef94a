#include "core/placer/fragmentation.hpp"

#include <algorithm>
#include <tuple>

namespace orrery {
namespace {

// Of all jobs; the rest are too rare to be worth keeping room for.
constexpr std::int64_t kTypicalPercent = 95;

template <class T>
void make_set(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

template <class T>
std::size_t at_most(const std::vector<T>& ascending, T value) {
  return static_cast<std::size_t>(std::upper_bound(ascending.begin(), ascending.end(), value) -
                                  ascending.begin());
}

// Each cell becomes the sum of all cells that are in no dimension beyond it.
void accumulate(std::vector<std::int64_t>& cells, std::size_t columns) {
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (i % columns != 0) cells[i] += cells[i - 1];
  for (std::size_t i = columns; i < cells.size(); ++i) cells[i] += cells[i - columns];
}

}  // namespace

std::vector<Fragmentation::Kind> Fragmentation::typical(std::span<const DemandMix::Entry> mix) {
  std::vector<Kind> kinds;
  kinds.reserve(mix.size());
  std::int64_t all = 0;
  for (const DemandMix::Entry& entry : mix) {
    const Demand& d = entry.demand;
    all += entry.jobs;
    // The mix is in the order of these members, then of memory.
    const DeviceModelId model = d.devices == 0 ? DeviceModelId::none() : d.model;
    Kind* last = kinds.empty() ? nullptr : &kinds.back();
    if (last != nullptr && last->cpu == d.cpu && last->devices == d.devices &&
        last->share == d.share && last->model == model) {
      last->jobs += entry.jobs;
    } else {
      kinds.push_back({d.cpu, d.devices, d.share, model, entry.jobs});
    }
  }
  std::stable_sort(
      kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.jobs > b.jobs; });
  std::int64_t kept = 0;
  std::size_t count = 0;
  while (count < kinds.size() && kept * 100 < all * kTypicalPercent) kept += kinds[count++].jobs;
  kinds.resize(count);
  return kinds;
}

Fragmentation::Fragmentation(std::span<const DemandMix::Entry> mix) {
  const std::vector<Kind> kinds = typical(mix);
  kinds_ = kinds.size();
  std::vector<DeviceModelId> models;
  for (const Kind& kind : kinds) {
    weight_ += kind.jobs;
    if (kind.devices == 0) continue;
    cpus_.push_back(kind.cpu);
    sizes_.push_back(kind.devices);
    if (!kind.share.is_whole()) shares_.push_back(kind.share.thousandths);
    if (!kind.model.is_none()) models.push_back(kind.model);
  }
  make_set(cpus_);
  make_set(sizes_);
  make_set(shares_);
  make_set(models);
  for (std::size_t n = 0; n < met_.size(); ++n)
    met_[n] = static_cast<std::uint8_t>(at_most(sizes_, static_cast<std::int32_t>(n)));
  models.push_back(DeviceModelId::none());
  for (const DeviceModelId model : models) fill(tables_.emplace_back(Table{model, {}, {}}), kinds);
}

void Fragmentation::fill(Table& table, std::span<const Kind> kinds) const {
  const std::size_t wholes = sizes_.size() + 1;
  const std::size_t parts = shares_.size() + 1;
  table.whole.assign((cpus_.size() + 1) * wholes, 0);
  table.part.assign((cpus_.size() + 1) * parts, 0);
  for (const Kind& kind : kinds) {
    if (kind.devices == 0 || (!kind.model.is_none() && kind.model != table.model)) continue;
    const std::size_t cpu = at_most(cpus_, kind.cpu);
    table.whole[cpu * wholes + at_most(sizes_, kind.devices)] += kind.jobs;
    if (!kind.share.is_whole())
      table.part[cpu * parts + at_most(shares_, kind.share.thousandths)] += kind.jobs;
  }
  accumulate(table.whole, wholes);
  accumulate(table.part, parts);
}

Fragmentation::Row Fragmentation::row(DeviceModelId model, MilliCpu cpu) const {
  const Table* table = &tables_.back();
  for (const Table& each : tables_)
    if (each.model == model) table = &each;
  const std::size_t met = at_most(cpus_, cpu);
  return {&table->whole[met * (sizes_.size() + 1)], &table->part[met * (shares_.size() + 1)]};
}

std::int64_t Fragmentation::usable_parts(const NodeFree& free, Row row) const {
  if (free.parts == nullptr) return usable_part(free.partial_max, row);
  std::int64_t sum = 0;
  for (const std::int16_t left : *free.parts) sum += usable_part(left, row);
  return sum;
}

}  // namespace orrery
