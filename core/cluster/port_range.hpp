// Ports at which the workers of a node listen.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery {

/// The first port of a node whose declaration says nothing else: DI-engine's own default inside
/// DI-orchestrator's pods.
inline constexpr std::int32_t kPortFirst = 22270;

/// One past the last port of such a node: from here on Linux hands out ports for outgoing
/// connections (net.ipv4.ip_local_port_range), which would collide with ours.
inline constexpr std::int32_t kPortEnd = 32768;

/// The highest port there is.
inline constexpr std::int32_t kPortMax = 65535;

/// Ports of such a node.
inline constexpr std::int32_t kPortsPerNode = kPortEnd - kPortFirst;

/// Consecutive ports of the node at hand.
struct PortRange {
  std::int32_t first = 0;
  std::int32_t count = 0;

  /// Of a node whose declaration says nothing else.
  static constexpr PortRange standard() { return {kPortFirst, kPortsPerNode}; }

  std::int32_t end() const { return first + count; }

  friend bool operator==(const PortRange&, const PortRange&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("first", self.first);
    v.field("count", self.count);
  }
};

/// The range that "FIRST-LAST" is, both included: 1 to kPortMax. Nothing where it is none.
std::optional<PortRange> parse_port_range(std::string_view text);

}  // namespace orrery
