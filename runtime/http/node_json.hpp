// Nodes as clients read them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/job/job_enums.hpp"
#include "runtime/controller/control_api.hpp"

namespace orrery::http {

/// Whether new workers may come to a node; the first that holds.
enum class Standing : std::uint8_t {
  Silent,      ///< Its lease ran out.
  Excluded,    ///< By a user, as a lemon, or because its relaunch failed.
  DeviceLost,  ///< Until its devices work again.
  Leaving,     ///< It has announced that it goes away.
  Spare,       ///< It stands by for others.
  Ready,
};

Standing standing_of(const NodeState& node);

/// One worker on a node.
struct NodeMember {
  std::string job;
  std::string role;
  Rank rank;
  WorkerState state = WorkerState::Claimed;
  std::vector<std::int32_t> devices;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("job", self.job);
    v.field("role", self.role);
    v.field("rank", self.rank);
    v.field("state", self.state);
    v.field("devices", self.devices);
  }
};

/// A node with all that is told of it.
struct NodeSnapshot {
  NodeId id;
  std::string name;
  Standing state = Standing::Ready;
  std::string message;  ///< What `state` means, where it is not Ready.
  std::string group;
  std::int32_t devices = 0;
  std::int32_t devices_held = 0;
  std::int32_t devices_lost = 0;
  std::string device_model;
  MilliCpu cpu_millis;
  Bytes memory_bytes;
  std::int32_t workers = 0;
  bool connected = false;
  Instant last_heard;  ///< Zero: never by this controller.
  std::string address;
  std::string peer;
  std::string program;
  std::int32_t rack = -1;
  std::int32_t nvlink_domain = -1;
  Instant leaves_at = Instant::never();
  Instant excluded_until = Instant::never();

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("id", self.id);
    v.field("name", self.name);
    v.field("state", self.state);
    v.field("message", self.message);
    v.field("group", self.group);
    v.field("devices", self.devices);
    v.field("devices_held", self.devices_held);
    v.field("devices_lost", self.devices_lost);
    v.field("device_model", self.device_model);
    v.field("cpu_millis", self.cpu_millis);
    v.field("memory_bytes", self.memory_bytes);
    v.field("workers", self.workers);
    v.field("connected", self.connected);
    v.field("last_heard", self.last_heard);
    v.field("address", self.address);
    v.field("peer", self.peer);
    v.field("program", self.program);
    v.field("rack", self.rack);
    v.field("nvlink_domain", self.nvlink_domain);
    v.field("leaves_at", self.leaves_at);
    v.field("excluded_until", self.excluded_until);
  }
};

NodeSnapshot take_snapshot(const runtime::ControlView& view, NodeId id);

/// The workers on a node, by job and rank.
std::vector<NodeMember> members_on(const runtime::ControlView& view, NodeId id);

/// The node of this name, or none.
NodeId node_named(const runtime::ControlView& view, const std::string& name);

}  // namespace orrery::http

template <>
struct orrery::EnumNames<orrery::http::Standing> {
  static constexpr std::array kNames{
      "silent", "excluded", "device_lost", "leaving", "spare", "ready"};
};
