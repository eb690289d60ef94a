// What a search for a placement found, for people and for programs.
#pragma once

#include <cstddef>
#include <string>

#include "sim/search/search.hpp"
#include "tools/console/console.hpp"

namespace orrery::cli {

/// The best placement with the reasons, a picture of it, and a table of the first `top`, among them
/// the best of each mode.
std::string search_page(const sim::SearchedJob& job,
                        const sim::SearchResult& result,
                        std::size_t top,
                        const ConsoleTraits& traits);

/// The same as one JSON document; ends with a newline. docs/placement_search.md has the keys.
std::string search_json(const sim::SearchedJob& job,
                        const sim::SearchResult& result,
                        std::size_t top);

}  // namespace orrery::cli
