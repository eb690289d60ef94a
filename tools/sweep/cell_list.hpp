// Lists of cells by their numbers: "3", "1,4,7-9".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::cli {

/// The numbers of "1,4,7-9", in ascending order, each once. Errors: anything else, 0, a number
/// above `cells`; `option` names the place.
Result<std::vector<std::size_t>> cell_list(std::string_view option,
                                           std::string_view text,
                                           std::size_t cells);

/// The inverse; `numbers` ascend.
std::string cell_list_text(const std::vector<std::size_t>& numbers);

}  // namespace orrery::cli
