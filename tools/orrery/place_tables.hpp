// A placement plan for people, component by component.
#pragma once

#include <cstddef>
#include <string>

#include "core/placement/plan.hpp"

namespace orrery::cli {

/// One table a component: which ranks sit where, long runs as one line.
std::string placement_tables(const placement::Plan& plan,
                             const placement::Inventory& inventory,
                             std::size_t width_max);

/// Each component in explicit form, process ranks written out, as YAML that may be read again.
std::string explicit_placement(const placement::Plan& plan, const placement::Inventory& inventory);

}  // namespace orrery::cli
