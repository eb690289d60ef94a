// What the verbs of orrery-node are called, take and say of themselves. Their functions are in that
// program; orrery only knows these.
#pragma once

#include <vector>

#include "tools/console/verb.hpp"

namespace orrery::cli {

VerbSpec controller_spec();
VerbSpec agent_spec();
VerbSpec up_spec();
VerbSpec run_spec();
VerbSpec submit_spec();
VerbSpec apply_spec();
VerbSpec get_spec();
VerbSpec describe_spec();
VerbSpec logs_spec();
VerbSpec scale_spec();
VerbSpec stop_spec();
VerbSpec delete_spec();
VerbSpec exclude_spec();
VerbSpec include_spec();
VerbSpec events_spec();
VerbSpec top_spec();
VerbSpec forecast_spec();
VerbSpec accuracy_spec();
VerbSpec calibrate_spec();

/// All of the above but forecast and calibrate, which orrery carries out from a journal, without
/// functions, in the order of the overview.
std::vector<Verb> node_verbs_run_beside();

}  // namespace orrery::cli
