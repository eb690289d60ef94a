// Two hosts whose way through the network is whatever links are wanted at the moment.
#pragma once

#include <vector>

#include "sim/simgrid/shim.hpp"

namespace orrery::sim {

/// SimGrid looks a way up when a communication starts, and never again. So one pair of hosts
/// serves every communication: its way is laid anew before each start. This leaves links out that
/// do not bound the communication, and spares SimGrid's search for a way.
class Wire {
 public:
  /// Makes the two hosts in a zone of their own, beside others in a zone that is not sealed yet.
  explicit Wire(simgrid::s4u::NetZone* world)
      : zone_(shim::star_zone(world, "wire")),
        from_(shim::add_host(zone_, "wire_from", 1)),
        to_(shim::add_host(zone_, "wire_to", 1)) {
    zone_->seal();
  }

  /// What starts from now on goes over these links, at least one.
  void lay(const std::vector<simgrid::s4u::LinkInRoute>& links) {
    shim::set_star_way(zone_, from_, links);
  }

  simgrid::s4u::Host* from() const { return from_; }

  simgrid::s4u::Host* to() const { return to_; }

 private:
  simgrid::s4u::NetZone* zone_;
  simgrid::s4u::Host* from_;
  simgrid::s4u::Host* to_;
};

}  // namespace orrery::sim
