// The page of report.html as it was bundled into this program.
#pragma once

#include <string_view>

namespace orrery::sim {

/// The page, with `kPageData` once where its data belong; empty where the program was built
/// without.
std::string_view page_template();

/// Why there is no page, as the end of a sentence about this program; empty where there is one.
std::string_view page_absence();

/// Stands in the page for the JSON that it shows.
inline constexpr std::string_view kPageData = "@@orrery-data@@";

}  // namespace orrery::sim
