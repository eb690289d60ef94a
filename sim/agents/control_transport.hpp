// What carries control messages where the world does not draw their times itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sim/agents/network.hpp"

namespace orrery::sim {

/// Takes messages between the controllers and the agents of nodes on their way, and tells when
/// they arrive. It loses none, delivers each once, and those of one node and way in the order in
/// which they were sent. Its clock is stepped beside the world's, which never steps back.
///
/// Equal calls give equal answers on every machine.
class ControlTransport {
 public:
  virtual ~ControlTransport() = default;

  /// Sends a message of `bytes`, above 0, at `now`. `number` names it until it has arrived.
  virtual void send(std::uint32_t number, NodeId node, Way way, std::size_t bytes, Instant now) = 0;

  /// When the world must look next, at most `limit`; never where nothing arrives until then. It may
  /// be earlier than an arrival. The transport's clock may run up to what is returned, or to
  /// `limit`.
  virtual Instant next(Instant limit) = 0;

  /// Appends the numbers of all that has arrived up to `now`, in the order of arrival.
  virtual void take_arrived(Instant now, std::vector<std::uint32_t>& numbers) = 0;
};

}  // namespace orrery::sim
