// Exactly where one worker sits: chosen before its lease is taken.
#pragma once

#include <cstdint>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// One worker's place on one node.
struct Seat {
  NodeId node;
  std::uint64_t devices = 0;   ///< Bit i: device i of the node.
  std::uint64_t hardware = 0;  ///< Bit i: piece i of the node's custom hardware.
  Share share;                 ///< Of each of `devices`; whole unless several workers of the role
                               ///< are placed on them.

  friend bool operator==(const Seat&, const Seat&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("node", self.node);
    v.field("devices", self.devices);
    v.field("hardware", self.hardware);
    v.field("share", self.share);
  }
};

/// Which leases may share devices: leases of one owner with the same `group` and different
/// `member` take turns. Group 0: none. A lease may also sit beside one of another job, which each
/// of the two does with one lease at most on a device (ADR 0022).
struct TurnKey {
  std::uint16_t group = 0;
  std::uint16_t member = 0;
  JobId beside;  ///< Whose whole devices it was put on; none: on its own.

  friend bool operator==(const TurnKey&, const TurnKey&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("group", self.group);
    v.field("member", self.member);
    v.field_since(5, "beside", self.beside);
  }
};

}  // namespace orrery
