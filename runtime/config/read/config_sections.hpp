// Every key of the settings files, by section. docs/configuration.md has one table per section.
#pragma once

#include <span>
#include <string_view>

#include "scenarios/language/yaml/reading.hpp"

namespace orrery::runtime {

/// Every section of both files.
std::span<const scenarios::Section> config_sections();

/// The section of this name; it exists.
const scenarios::Section& config_section(std::string_view name);

}  // namespace orrery::runtime
