#include "sim/search/candidate.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace orrery::sim {
namespace {

/// Devices of one pool, one role or several.
using Runs = std::vector<DeviceRun>;

/// Takes devices one after the other, node by node.
class PackedDevices {
 public:
  PackedDevices(const SearchedJob& job, const Candidate& candidate)
      : job_(job),
        is_aligned_(candidate.layout == PoolLayout::Aligned),
        node_(static_cast<std::size_t>(candidate.first_node)) {}

  Runs take(std::int32_t devices) {
    Runs runs;
    if (is_aligned_ && used_ > 0 && devices > job_.nodes[node_].devices - used_) {
      ++node_;
      used_ = 0;
    }
    while (devices > 0 && node_ < job_.nodes.size()) {
      const std::int32_t left = job_.nodes[node_].devices - used_;
      const std::int32_t here = std::min(left, devices);
      if (here > 0) runs.push_back({static_cast<std::int32_t>(node_), used_, here});
      devices -= here;
      used_ += here;
      if (used_ < job_.nodes[node_].devices) break;
      ++node_;
      used_ = 0;
    }
    return runs;
  }

 private:
  const SearchedJob& job_;
  bool is_aligned_;
  std::size_t node_;
  std::int32_t used_ = 0;  // Of that node.
};

/// Devices of each pool; empty where the layout cannot be.
std::vector<Runs> packed(const SearchedJob& job, const Candidate& candidate) {
  PackedDevices devices(job, candidate);
  std::vector<Runs> runs;
  for (const Pool& pool : candidate.pools) runs.push_back(devices.take(pool.devices));
  return runs;
}

/// On as few nodes as hold them all, each of which has an equal part of each pool.
std::vector<Runs> spread(const SearchedJob& job, const Candidate& candidate) {
  std::int32_t all = 0;
  for (const Pool& pool : candidate.pools) all += pool.devices;
  const auto first = static_cast<std::size_t>(candidate.first_node);
  const std::int32_t per_node = job.nodes[first].devices;
  if (per_node == 0) return {};
  const std::int32_t nodes = (all + per_node - 1) / per_node;
  if (nodes < 2 || first + static_cast<std::size_t>(nodes) > job.nodes.size()) return {};
  std::vector<Runs> runs(candidate.pools.size());
  std::int32_t used = 0;
  for (std::size_t p = 0; p < runs.size(); ++p) {
    const std::int32_t devices = candidate.pools[p].devices;
    if (devices % nodes != 0) return {};
    for (std::int32_t node = candidate.first_node; node < candidate.first_node + nodes; ++node) {
      if (job.nodes[static_cast<std::size_t>(node)].devices != per_node) return {};
      runs[p].push_back({node, used, devices / nodes});
    }
    used += devices / nodes;
  }
  return runs;
}

/// Those that touch one another on one node become one run.
Runs joined(Runs all) {
  std::sort(all.begin(), all.end(), [](const DeviceRun& a, const DeviceRun& b) {
    return a.node != b.node ? a.node < b.node : a.first < b.first;
  });
  Runs out;
  for (const DeviceRun& run : all) {
    if (!out.empty() && out.back().node == run.node &&
        run.first <= out.back().first + out.back().devices)
      out.back().devices = std::max(out.back().devices, run.first + run.devices - out.back().first);
    else
      out.push_back(run);
  }
  return out;
}

Runs joined(const std::vector<Runs>& pools) {
  Runs all;
  for (const Runs& runs : pools) all.insert(all.end(), runs.begin(), runs.end());
  return joined(std::move(all));
}

std::int32_t sum_of(const Runs& runs) {
  return std::accumulate(runs.begin(), runs.end(), 0, [](std::int32_t sum, const DeviceRun& run) {
    return sum + run.devices;
  });
}

std::optional<RolePlaces> place_role(const SearchedJob& job,
                                     const SearchedRole& role,
                                     const Runs& runs) {
  RolePlaces places;
  bool first = true;
  for (const DeviceRun& run : runs) {
    const SearchedNode& node = job.nodes[static_cast<std::size_t>(run.node)];
    const std::int32_t here =
        std::min(run.devices / role.width, role.max_replicas - places.replicas);
    if (here == 0) continue;
    if (!role.device_model.empty() && node.model != role.device_model) return std::nullopt;
    places.runs.push_back({run.node, run.first, here * role.width});
    places.replicas += here;
    places.speed = first ? node.speed : std::min(places.speed, node.speed);
    first = false;
  }
  if (places.replicas < role.min_replicas) return std::nullopt;
  return places;
}

}  // namespace

std::int32_t RolePlaces::devices() const { return sum_of(runs); }

std::vector<NodeDevices> RolePlaces::nodes() const {
  std::vector<NodeDevices> nodes;
  for (const DeviceRun& run : runs) {
    const NodeId node{static_cast<std::uint32_t>(run.node)};
    if (!nodes.empty() && nodes.back().node == node)
      nodes.back().devices += run.devices;
    else
      nodes.push_back({node, run.devices});
  }
  return nodes;
}

std::optional<std::vector<RolePlaces>> place_roles(const SearchedJob& job,
                                                   const Candidate& candidate) {
  const std::vector<Runs> pools =
      candidate.layout == PoolLayout::Spread ? spread(job, candidate) : packed(job, candidate);
  if (pools.size() != candidate.pools.size()) return std::nullopt;
  std::vector<RolePlaces> places(job.roles.size());
  for (std::size_t r = 0; r < job.roles.size(); ++r)
    if (!job.roles[r].is_placed()) places[r].replicas = job.roles[r].reference;
  const auto place = [&](std::int32_t role, const Runs& runs) {
    const auto at = static_cast<std::size_t>(role);
    auto found = place_role(job, job.roles[at], runs);
    if (found) places[at] = *std::move(found);
    return found.has_value();
  };
  if (candidate.generates_everywhere && !place(job.parts.front().role, joined(pools)))
    return std::nullopt;
  for (std::size_t p = 0; p < pools.size(); ++p)
    for (const std::int32_t role : candidate.pools[p].roles)
      if (!place(role, pools[p])) return std::nullopt;
  return places;
}

bool share_devices(const RolePlaces& one, const RolePlaces& other) {
  return std::any_of(one.runs.begin(), one.runs.end(), [&](const DeviceRun& a) {
    return std::any_of(other.runs.begin(), other.runs.end(), [&](const DeviceRun& b) {
      return a.node == b.node && a.first < b.first + b.devices && b.first < a.first + a.devices;
    });
  });
}

std::int32_t devices_held(const std::vector<RolePlaces>& roles) {
  Runs all;
  for (const RolePlaces& role : roles) all.insert(all.end(), role.runs.begin(), role.runs.end());
  return sum_of(joined(std::move(all)));
}

placement::Mode mode_of(const Candidate& candidate) {
  if (candidate.generates_everywhere) return placement::Mode::Hybrid;
  if (candidate.pools.size() == 1 && candidate.pools.front().roles.size() > 1)
    return placement::Mode::Collocated;
  const bool shares = std::any_of(candidate.pools.begin(),
                                  candidate.pools.end(),
                                  [](const Pool& pool) { return pool.roles.size() > 1; });
  return shares ? placement::Mode::Hybrid : placement::Mode::Disaggregated;
}

std::int32_t first_device(const SearchedJob& job, const DeviceRun& run) {
  return job.nodes[static_cast<std::size_t>(run.node)].first_device + run.first;
}

std::string placement_text(const SearchedJob& job, const RolePlaces& places, std::int32_t width) {
  const auto range = [](std::int32_t first, std::int32_t count) {
    std::string text = std::to_string(first);
    return count > 1 ? text + "-" + std::to_string(first + count - 1) : text;
  };
  // Runs that follow one another without a hole are one entry.
  std::string text;
  std::int32_t rank = 0;
  for (std::size_t i = 0; i < places.runs.size();) {
    const std::int32_t first = first_device(job, places.runs[i]);
    std::int32_t devices = 0;
    while (i < places.runs.size() && first_device(job, places.runs[i]) == first + devices)
      devices += places.runs[i++].devices;
    text += (text.empty() ? "" : ",") + range(first, devices) + ":" + range(rank, devices / width);
    rank += devices / width;
  }
  return text;
}

}  // namespace orrery::sim
