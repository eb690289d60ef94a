// What can be wrong with the programs of a specification: where they run, in what, and its labels.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/result.hpp"
#include "core/job/spec.hpp"

namespace orrery {

/// Most labels of one job.
inline constexpr std::size_t kLabelsMax = 64;

/// Whether `key` can name a folder of its own: 1 to 63 of [A-Za-z0-9._-], the first no '.' or '-'.
bool is_isolation_key(std::string_view key);

/// Whether `path` stays where it begins: no component is "..", and no byte is a control character.
bool is_contained_path(std::string_view path);

/// Appends everything wrong with working directories, images, isolation and labels. Part of
/// `check_spec`.
void check_programs(const JobSpec& spec, Errors& errors);

}  // namespace orrery
