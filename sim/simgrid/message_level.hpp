// Level L3 in world `sim`, ready for one run. Needs no SimGrid to be included.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/agents/control_transport.hpp"
#include "sim/fabric/fabric.hpp"

namespace orrery::sim {

/// Control messages between SimGrid's actors, and jobs' exchanges message by message, on one
/// platform. One per process, since SimGrid has one engine.
class MessageLevel {
 public:
  virtual ~MessageLevel() = default;

  virtual ControlTransport& transport() = 0;
  virtual Fabric& fabric() = 0;

  /// For the scenario's cluster and network. Errors: a network that cannot be built, a fault that
  /// this level does not model (`refused_at_message_level`), more nodes than it can hold.
  static Result<std::unique_ptr<MessageLevel>> make(const scenarios::Scenario& scenario);
};

/// What of the scenario level L3 does not model: faults of messages (links that are cut, loss,
/// duplication, reordering, added latency), which the drawn network of world `model` has. Empty
/// where there is nothing.
Errors refused_at_message_level(const scenarios::Scenario& scenario);

}  // namespace orrery::sim
