// What one replica takes on one node, and what a node offers.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/units.hpp"

namespace orrery {

/// Resources taken together on one node by one replica.
struct Bundle {
  MilliCpu cpu;              ///< At least 0.
  Bytes memory;              ///< At least 0.
  std::int32_t devices = 0;  ///< Whole devices, 0 to 64; 1 where `share` is a part.
  Share share;               ///< Part of the one device; whole unless `devices` is 1.
  std::string device_model;  ///< Empty: any model, but all devices of one bundle are of one model.

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
  }
};

}  // namespace orrery
