// What a run in world `sim` stands on.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/agents/control_transport.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/simgrid/message_level.hpp"

namespace orrery::cli {

/// SimGrid's side of one run: what carries the jobs' bytes and, at fidelity L3, the messages
/// between controller and agents.
struct SimGridParts {
  std::unique_ptr<sim::Fabric> fluid;           ///< L2.
  std::unique_ptr<sim::MessageLevel> messages;  ///< L3.

  sim::Fabric* fabric() const { return messages ? &messages->fabric() : fluid.get(); }

  /// Null below L3.
  sim::ControlTransport* transport() const { return messages ? &messages->transport() : nullptr; }
};

/// The module that brings SimGrid: beside this program, or where it is installed; empty where this
/// program has none. SimGrid's libraries, with all that they bring, take as much memory and time to
/// start as most runs, and most runs do without.
std::string simgrid_module_path();

/// The parts for the scenario's fidelity, once per process. Errors: no SimGrid, a platform file
/// that does not fit the scenario, faults that its fidelity does not model.
Result<SimGridParts> simgrid_parts(const scenarios::Scenario& scenario);

}  // namespace orrery::cli
