// Jobs, gangs and a network of one switch for tests of cycles.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "sim/steps/cycle.hpp"

namespace orrery::sim {

/// A role of so many replicas of so many devices.
inline RoleSpec role_named(std::string name, std::int32_t replicas, std::int32_t devices) {
  RoleSpec role;
  role.name = std::move(name);
  role.min_replicas = role.max_replicas = replicas;
  role.bundle.devices = devices;
  return role;
}

/// What `CycleInputs` points at.
struct Job {
  JobSpec spec;
  scenarios::WorkSpec work;
  std::vector<GangMember> gang;
  scenarios::NetworkSpec network;
  std::vector<double> flops;

  /// A job of one role, a worker on each of `nodes`; a unit of work takes a second of them all.
  static Job of(const std::vector<std::uint32_t>& nodes, std::int32_t devices) {
    Job job;
    const auto replicas = static_cast<std::int32_t>(nodes.size());
    job.spec.roles.push_back(role_named("worker", replicas, devices));
    job.work.units = 1000;
    job.work.base_replicas = replicas;
    job.add(0, nodes, devices);
    return job;
  }

  void add(std::uint16_t role, const std::vector<std::uint32_t>& nodes, std::int32_t devices) {
    std::int32_t local = 0;
    for (const std::uint32_t node : nodes)
      gang.push_back({RoleIndex{role}, local++, NodeId{node}, devices});
  }

  Job& sends(scenarios::TrafficSpec traffic) {
    work.traffic = std::make_shared<const scenarios::TrafficSpec>(std::move(traffic));
    return *this;
  }

  Job& sends(scenarios::StepSpec step) {
    scenarios::TrafficSpec traffic;
    traffic.step = step;
    return sends(std::move(traffic));
  }

  CycleInputs inputs() const { return {spec, work, gang, network, flops}; }

  Cycle cycle(std::uint64_t seed = 1, std::optional<std::uint64_t> turn = std::nullopt) const {
    return cycle_of(inputs(), seed, turn);
  }
};

using Pair = std::pair<NodeId, NodeId>;

/// Bytes of one step from node to node, all exchanges together.
inline std::map<Pair, double> bytes_by_pair(const Stage& stage) {
  std::map<Pair, double> bytes;
  for (const Exchange& exchange : stage.exchanges)
    for (const Transfer& transfer : transfers_of(exchange))
      bytes[{transfer.from, transfer.to}] += transfer.bytes;
  return bytes;
}

inline double total_bytes(const Stage& stage) {
  double bytes = 0;
  for (const auto& [pair, sent] : bytes_by_pair(stage)) bytes += sent;
  return bytes;
}

/// Nodes at one switch: an exchange lasts as long as the busiest link, each way for itself.
class OneSwitch final : public Fabric {
 public:
  explicit OneSwitch(double bandwidth) : bandwidth_(bandwidth) {}

  double step_alone_s(const Stage& stage) const override {
    std::map<NodeId, double> out;
    std::map<NodeId, double> in;
    for (const auto& [pair, bytes] : bytes_by_pair(stage)) {
      out[pair.first] += bytes;
      in[pair.second] += bytes;
    }
    double busiest = 0;
    for (const auto* way : {&out, &in})
      for (const auto& [node, bytes] : *way)
        if (!node.is_none()) busiest = std::max(busiest, bytes);
    return step_seconds(
        stage.compute_s, busiest / bandwidth_ + stage.local_exchange_s, stage.overlap);
  }

  StageId begin(const Stage&, Instant) override { return {}; }

  double steps_done(StageId, Instant) override { return 0; }

  double pace(StageId) override { return 0; }

  void end(StageId, Instant) override {}

  Instant next(Instant limit) override { return limit; }

  void pass_to(Instant, std::vector<StageId>&) override {}

  void set_link_share(NodeId, double, Instant) override {}

  std::vector<std::string> link_names() const override { return {}; }

  void link_use(std::vector<double>&) const override {}

 private:
  double bandwidth_;
};

}  // namespace orrery::sim
