// What the entry program of a document makes of its plan: which sizes must fit, and which groups of
// processes are started.
#pragma once

#include <string>
#include <vector>

#include "scenarios/language/placement/placement_document.hpp"

namespace orrery::scenarios {

/// Tells what the program would refuse: components that it starts and that are not placed, numbers
/// of worlds and sequences that the placed processes do not divide. Components of a plan that is
/// not whole are passed over. `document` has a program. What RLinf takes although it does not come
/// out even is a warning.
void check_program(const PlacementDocument& document,
                   const placement::Plan& plan,
                   placement::PlacementErrors& errors,
                   placement::PlacementErrors& warnings);

/// Leaves the components that the program starts, and adds those that it starts without a text of
/// their own: agent loops, tools, servers, the dynamic scheduler. All are named as their processes
/// call them. `document` has a program, `plan` is whole. Names of the others are appended to
/// `not_started`.
void start_groups(const PlacementDocument& document,
                  placement::Plan& plan,
                  std::vector<std::string>& not_started,
                  placement::PlacementErrors& errors);

/// Whether the program starts the component of this name where it is placed.
bool is_started(const ProgramFacts& program, placement::Mode mode, const std::string& component);

/// The component of the plan, or null.
const placement::ComponentPlan* find_component(const placement::Plan& plan, std::string_view name);

}  // namespace orrery::scenarios
