#include "core/control/node_health.hpp"

namespace orrery {

void on_event(Step&, const NodesRelaunched&) {}

void on_event(Step&, const ExclusionRequested&) {}

void on_event(Step&, const NodeLeaving&) {}

void on_event(Step&, const DevicesLost&) {}

}  // namespace orrery
