// What one replica takes on one node, and what a node offers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"
#include "core/cluster/port_range.hpp"

namespace orrery {

/// Thousandths of so many devices, or of a part of one.
constexpr std::int64_t thousandths_of(std::int32_t devices, Share share) {
  return devices == 1 ? share.thousandths : std::int64_t{devices} * 1000;
}

/// Resources taken together on one node by one replica.
struct Bundle {
  MilliCpu cpu;              ///< At least 0.
  Bytes memory;              ///< At least 0.
  std::int32_t devices = 0;  ///< Whole devices, 0 to 64; 1 where `share` is a part.
  Share share;               ///< Part of the one device; whole unless `devices` is 1.
  std::string device_model;  ///< Empty: any model, but all devices of one bundle are of one model.

  /// Of devices, whole ones and parts.
  std::int64_t thousandths() const { return thousandths_of(devices, share); }

  friend bool operator==(const Bundle&, const Bundle&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("cpu", self.cpu);
    v.field("memory", self.memory);
    v.field("devices", self.devices);
    v.field("share", self.share);
    v.field("device_model", self.device_model);
  }
};

/// The vendor of a device: decides which variable shows devices to a process.
enum class DeviceVendor : std::uint8_t { Nvidia, Amd, Ascend, Custom };

template <>
struct EnumNames<DeviceVendor> {
  static constexpr std::array kNames{"nvidia", "amd", "ascend", "custom"};
};

/// Custom hardware of one type on a node: robots and anything else that is no accelerator.
struct HardwareCount {
  std::string type;
  std::int32_t count = 0;  ///< 1 to 64 over all types of a node.

  friend bool operator==(const HardwareCount&, const HardwareCount&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("type", self.type);
    v.field("count", self.count);
  }
};

/// A run of equal nodes, declared together.
struct NodeGroup {
  std::string name;
  std::int32_t count = 0;           ///< Nodes in the group, at least 1.
  MilliCpu cpu;                     ///< Per node.
  Bytes memory;                     ///< Per node.
  std::int32_t devices = 0;         ///< Devices per node, 0 to 64, all of one model.
  std::string device_model;         ///< Name of the model; empty where the nodes have no device.
  std::int32_t nodes_per_rack = 0;  ///< 0: no racks declared.
  std::int32_t spares = 0;          ///< Of `count`, the last ones: used when others are not usable.
  std::int32_t nodes_per_nvlink_domain = 0;  ///< 0: each node is a domain of its own.
  DeviceVendor vendor = DeviceVendor::Nvidia;
  std::vector<HardwareCount> hardware;  ///< Per node, numbered through in this order.
  std::vector<std::string> node_names;  ///< By which agents claim the nodes, in their order, unique
                                        ///< in the cluster; empty, or one for each node.
  PortRange ports = PortRange::standard();  ///< Of each node, that its workers listen at.

  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("name", self.name);
    v.field("count", self.count);
    v.field("cpu", self.cpu);
    v.field("memory", self.memory);
    v.field("devices", self.devices);
    v.field("device_model", self.device_model);
    v.field("nodes_per_rack", self.nodes_per_rack);
    v.field_since(2, "spares", self.spares);
    v.field_since(3, "nodes_per_nvlink_domain", self.nodes_per_nvlink_domain);
    v.field_since(3, "vendor", self.vendor);
    v.field_since(3, "hardware", self.hardware);
    v.field_since(4, "node_names", self.node_names);
    v.field_since(5, "ports", self.ports);
  }
};

}  // namespace orrery
