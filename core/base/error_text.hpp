// Errors as people read them.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace orrery {

/// A line for each, in their order; no line end at the end.
std::string text_of(const Errors& errors);

}  // namespace orrery
