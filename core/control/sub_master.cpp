#include "core/control/sub_master.hpp"

namespace orrery {

void on_event(Step&, const SubMasterSaid&) {}

void on_event(Step&, const WorkerSuspected&) {}

}  // namespace orrery
