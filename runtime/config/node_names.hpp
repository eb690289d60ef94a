// Names of many nodes in few words: "gpu-[1-16],login".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::runtime {

/// As many names as a cluster may have nodes.
inline constexpr std::size_t kNodeNamesMax = 1'048'576;

/// The names that `text` stands for, in its order: words joined by ",", in each of which brackets
/// hold numbers and ranges ("gpu-[1-3,7]", "r[1-2]n[01-16]"; leading zeros are kept). The form is
/// Slurm's. Nothing where it is unsound (an empty word, a range that falls, a bracket without its
/// partner) or means more than kNodeNamesMax names. The names themselves are not judged.
std::optional<std::vector<std::string>> expand_node_names(std::string_view text);

/// The name that a host gives its node: the part before the first ".", in small letters; empty
/// where that is no DNS label.
std::string node_name_of_host(std::string_view host);

}  // namespace orrery::runtime
