// Failover in the machine room: sub-masters, and nodes that are replaced.

#include "sim/model/machine_room.hpp"

namespace orrery::sim {

void MachineRoom::obey(const TellSubMaster&) {}

void MachineRoom::act(NodeId, const PassToSubMaster&) {}

void MachineRoom::obey(const RelaunchNodes&) {}

}  // namespace orrery::sim
