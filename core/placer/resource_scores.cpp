#include "core/placer/resource_scores.hpp"

#include <algorithm>

namespace orrery {
namespace {

// The most that any node has; at least 1 of each, to divide by.
struct Largest {
  double cpu = 1;
  double devices = 1;  ///< In thousandths.

  Largest(const PlacementRequest& request, const FreeIndex& index) {
    std::int64_t cpu_most = 1;
    std::int64_t devices_most = 1;
    if (request.ledger != nullptr) {
      cpu_most = std::max(cpu_most, request.ledger->cpu_most().count);
      devices_most = std::max<std::int64_t>(devices_most, request.ledger->devices_most());
    } else {
      for (std::uint32_t n = 0; n < index.size(); ++n)
        cpu_most = std::max(cpu_most, index.at(NodeId{n}).cpu.count);
      devices_most = std::max<std::int64_t>(devices_most, index.devices_most());
    }
    cpu = static_cast<double>(cpu_most);
    devices = static_cast<double>(devices_most) * 1000;
  }
};

// Of what is asked for, and what is free, as parts of what the largest nodes have.
class ByFormula {
 public:
  ByFormula(const PlacementRequest& request, const FreeIndex& index)
      : largest_(request, index),
        cpu_(static_cast<double>(request.demand.cpu.count) / largest_.cpu),
        devices_(static_cast<double>(request.demand.thousandths()) / largest_.devices) {}

 protected:
  double cpu_asked() const { return cpu_; }

  double devices_asked() const { return devices_; }

  double cpu_of(const NodeFree& free) const {
    return static_cast<double>(free.cpu.count) / largest_.cpu;
  }

  double devices_of(const NodeFree& free) const {
    return static_cast<double>(free.thousandths()) / largest_.devices;
  }

 private:
  Largest largest_;
  double cpu_;
  double devices_;
};

class DotProductScore : public ByFormula, public PlainScore {
 public:
  using ByFormula::ByFormula;

  std::int64_t score(NodeId, const NodeFree& free, std::int32_t) const {
    const double product = cpu_of(free) * cpu_asked() + devices_of(free) * devices_asked();
    return static_cast<std::int64_t>(100 * (1 - product / 2));
  }
};

class LeastLeftScore : public ByFormula {
 public:
  static constexpr bool kByFreeAlone = true;

  using ByFormula::ByFormula;

  std::int64_t score(NodeId, const NodeFree& free, std::int32_t) const {
    const double left = cpu_of(free) - cpu_asked() + devices_of(free) - devices_asked();
    return static_cast<std::int64_t>(100 * (1 - left / 2));
  }

  static constexpr std::int64_t final(std::int64_t score, std::int64_t least, std::int64_t most) {
    return most == least ? 0 : (score - least) * 100 / (most - least);
  }
};

// Points for devices in use, above those for nodes in use, above those for empty nodes.
class PackingScore : public PlainScore {
 public:
  static constexpr bool kByFreeAlone = false;

  explicit PackingScore(const PlacementRequest& request) : request_(request) {}

  std::int64_t score(NodeId node, const NodeFree& free, std::int32_t here) const {
    const Demand& demand = request_.demand;
    if (demand.devices == 0) return 0;
    constexpr std::int64_t kNodeInUse = 33;
    constexpr std::int64_t kDeviceInUse = 50;
    if (here == 0 && is_empty(node, free))
      return std::max<std::int64_t>(kNodeInUse - free.devices, free.devices);
    const std::int32_t left =
        is_share(demand) ? fullest_with(free, demand.share.thousandths) : 1000;
    if (left == 1000) return std::max<std::int64_t>(kDeviceInUse - demand.devices, kNodeInUse);
    return std::max<std::int64_t>(100 - left / 100, kDeviceInUse);
  }

 private:
  bool is_empty(NodeId node, const NodeFree& free) const {
    if (free.partial_max > 0) return false;
    return request_.ledger == nullptr || request_.ledger->node(node).devices == free.devices;
  }

  const PlacementRequest& request_;
};

// Points for the kinds of jobs on a node, and a few for how full its devices are.
class ClusteringScore : public PlainScore {
 public:
  static constexpr bool kByFreeAlone = false;

  ClusteringScore(const PlacementRequest& request, const FreeIndex& index)
      : request_(request), devices_most_(Largest(request, index).devices) {}

  std::int64_t score(NodeId node, const NodeFree& free, std::int32_t here) const {
    if (request_.demand.devices == 0) return 0;
    bool same = here > 0;
    bool others = false;
    if (request_.ledger != nullptr) look(*request_.ledger, node, same, others);
    const double used = devices_most_ - static_cast<double>(free.thousandths());
    const auto fullness = static_cast<std::int64_t>(25 * used / devices_most_);
    return fullness + (same ? (others ? 50 : 75) : (others ? 0 : 25));
  }

 private:
  // Jobs of one kind take parts of devices, or the same number of whole ones.
  static std::int32_t kind_of(const Demand& demand) {
    return is_share(demand) ? 0 : demand.devices;
  }

  void look(const Ledger& ledger, NodeId node, bool& same, bool& others) const {
    const std::int32_t mine = kind_of(request_.demand);
    for (LeaseId id = ledger.node(node).first; !id.is_none(); id = ledger.lease(id).next) {
      const Lease& lease = ledger.lease(id);
      if (lease.demand.devices == 0 || lease.stage == LeaseStage::Releasing) continue;
      (kind_of(lease.demand) == mine ? same : others) = true;
      if (same && others) return;
    }
  }

  const PlacementRequest& request_;
  double devices_most_;
};

class SpreadScore : public PlainScore {
 public:
  explicit SpreadScore(const Demand& demand) : by_devices_(demand.devices > 0) {}

  std::int64_t score(NodeId, const NodeFree& free, std::int32_t here) const {
    constexpr std::int64_t kReplica = 1'000'000'000'000;
    const std::int64_t most = by_devices_ ? free.thousandths() : free.cpu.count;
    return std::clamp<std::int64_t>(most, 0, kReplica - 1) - here * kReplica;
  }

 private:
  bool by_devices_;
};

}  // namespace

Placer::Found DotProduct::find(const PlacementRequest& request,
                               const FreeIndex& index,
                               std::vector<NodeCount>& nodes) const {
  return find_by(DotProductScore(request, index), TieOrder(request.seed), request, index, nodes);
}

Placer::Found BestFitScore::find(const PlacementRequest& request,
                                 const FreeIndex& index,
                                 std::vector<NodeCount>& nodes) const {
  return find_by(LeastLeftScore(request, index), TieOrder(request.seed), request, index, nodes);
}

Placer::Found GpuPacking::find(const PlacementRequest& request,
                               const FreeIndex& index,
                               std::vector<NodeCount>& nodes) const {
  return find_by(PackingScore(request), TieOrder(request.seed), request, index, nodes);
}

Placer::Found GpuClustering::find(const PlacementRequest& request,
                                  const FreeIndex& index,
                                  std::vector<NodeCount>& nodes) const {
  return find_by(ClusteringScore(request, index), TieOrder(request.seed), request, index, nodes);
}

Placer::Found Spread::find(const PlacementRequest& request,
                           const FreeIndex& index,
                           std::vector<NodeCount>& nodes) const {
  return find_by(SpreadScore(request.demand), TieOrder(request.seed), request, index, nodes);
}

}  // namespace orrery
