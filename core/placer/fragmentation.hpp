// How much of what nodes have free is of no use to a mix of demands: the measure of Weng et al.,
// "Beware of Fragmentation", USENIX ATC 2023.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/cluster/demand_mix.hpp"
#include "core/cluster/free_index.hpp"

namespace orrery {

/// Fragmentation of nodes for one mix.
///
/// The mix is cut to its typical demands: those that agree in CPU, devices, share and model count
/// as one, memory is not looked at, and of these the most frequent ones are kept until they are 95
/// % of all jobs (of equally frequent ones those that ask for less). For a typical demand, what a
/// node has free of devices is a fragment
///
/// * all of it, where the demand needs no device, its model is another one, or the node lacks the
///   CPU or as many devices with so much left as it needs;
/// * else what is left on devices that have less left than it needs of each.
///
/// The fragment of a node is the mean over the mix. All sums are whole numbers, hence exact.
class Fragmentation {
 public:
  /// Nothing of `mix` is kept. An empty one has weight 0, and nothing is a fragment.
  explicit Fragmentation(std::span<const DemandMix::Entry> mix);

  /// Jobs of the typical demands.
  std::int64_t weight() const { return weight_; }

  /// Kinds of typical demands.
  std::size_t kinds() const { return kinds_; }

  /// The fragment of a node in thousandths of devices, times `weight`.
  std::int64_t weighted(const NodeFree& free) const {
    return free.thousandths() * weight_ - usable(free, row(free.model, free.cpu));
  }

  /// What the mix can use on nodes of one model with so much CPU. Points into this object.
  struct Row {
    const std::int64_t* whole;
    const std::int64_t* part;
  };

  Row row(DeviceModelId model, MilliCpu cpu) const;

  /// What is no fragment of so many wholly free devices of one node, of one partly taken device
  /// with so much left, and of all that a node has free; in thousandths of devices, times `weight`.
  std::int64_t usable_whole(std::int32_t devices, Row row) const {
    return std::int64_t{1000} * devices * row.whole[met_[static_cast<std::size_t>(devices)]];
  }

  std::int64_t usable_part(std::int32_t left, Row row) const {
    std::size_t met = 0;
    while (met < shares_.size() && shares_[met] <= left) ++met;
    return left * row.part[met];
  }

  std::int64_t usable(const NodeFree& free, Row row) const {
    return usable_whole(free.devices, row) + usable_parts(free, row);
  }

  std::int64_t usable_parts(const NodeFree& free, Row row) const;

 private:
  // Jobs whose demands a device or a node can serve, by model, then by how many of the CPU limits
  // the node meets: `whole` by how many of `sizes_` it has devices for, `part` by how many of
  // `shares_` fit a device.
  struct Table {
    DeviceModelId model;              // None: of models that no demand names.
    std::vector<std::int64_t> whole;  // [CPU limits met][sizes met]
    std::vector<std::int64_t> part;   // [CPU limits met][shares met]
  };

  struct Kind {
    MilliCpu cpu;
    std::int32_t devices = 0;
    Share share;
    DeviceModelId model;
    std::int64_t jobs = 0;
  };

  static std::vector<Kind> typical(std::span<const DemandMix::Entry> mix);
  void fill(Table& table, std::span<const Kind> kinds) const;

  std::int64_t weight_ = 0;
  std::size_t kinds_ = 0;
  std::vector<MilliCpu> cpus_;          // Limits, ascending.
  std::vector<std::int32_t> shares_;    // Below 1000, ascending.
  std::vector<std::int32_t> sizes_;     // Whole devices, 1 standing for shares too; ascending.
  std::array<std::uint8_t, 65> met_{};  // By number of devices: how many of `sizes_`.
  std::vector<Table> tables_;           // The last one: of models that no demand names.
};

}  // namespace orrery
