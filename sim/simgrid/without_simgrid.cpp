// The entries of this folder where SimGrid is not there.
#include <string>

#include "sim/simgrid/make_fluid_fabric.hpp"
#include "sim/simgrid/message_level.hpp"

namespace orrery::sim {
namespace {

Error refusal(const scenarios::Scenario& scenario, const char* level) {
  return Error{ErrorCode::Unavailable,
               scenario.file,
               0,
               "fidelity",
               std::string(level) +
                   " was asked for, this program was built without SimGrid; install "
                   "libsimgrid-dev and build again, or use --fidelity L0 or L1"};
}

}  // namespace

Result<std::unique_ptr<Fabric>> make_fluid_fabric(const scenarios::Scenario& scenario) {
  return refusal(scenario, "L2");
}

Result<std::unique_ptr<MessageLevel>> MessageLevel::make(const scenarios::Scenario& scenario) {
  return refusal(scenario, "L3");
}

}  // namespace orrery::sim
