// A placement plan for scripts.
#pragma once

#include <string>

#include "core/placement/plan.hpp"

namespace orrery::cli {

/// `{component: [records]}` with one record a process in rank order, one a line; ends with a
/// newline. docs/placement_documents.md has the keys.
std::string placement_json(const placement::Plan& plan, const placement::Inventory& inventory);

}  // namespace orrery::cli
