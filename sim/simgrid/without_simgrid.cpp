// The entries of this folder where SimGrid is not there.
#include "sim/simgrid/make_fluid_fabric.hpp"

namespace orrery::sim {

Result<std::unique_ptr<Fabric>> make_fluid_fabric(const scenarios::Scenario& scenario) {
  return Error{ErrorCode::Unavailable,
               scenario.file,
               0,
               "fidelity",
               "L2 was asked for, this program was built without SimGrid; install libsimgrid-dev "
               "and build again, or use --fidelity L0 or L1"};
}

}  // namespace orrery::sim
