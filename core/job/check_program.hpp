// What can be wrong with the programs of a specification: where they run, in what, and its labels.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/result.hpp"
#include "core/job/spec.hpp"

namespace orrery {

/// Most labels of one job.
inline constexpr std::size_t kLabelsMax = 64;

/// Bytes of all files that a job brings along: as much as one ConfigMap of Kubernetes may have.
inline constexpr std::size_t kFilesBytesMax = 1 << 20;

/// Whether a file that a job brings along may have this name: no path, [A-Za-z0-9._-].
bool is_file_name(std::string_view name);

/// Whether `key` can name a folder of its own: 1 to 63 of [A-Za-z0-9._-], the first no '.' or '-'.
bool is_isolation_key(std::string_view key);

/// Whether `path` stays where it begins: no component is "..", and no byte is a control character.
bool is_contained_path(std::string_view path);

/// Whether a command's first word is the Python of the node, in whose place an interpreter may be
/// named: python or python3.
bool is_python(std::string_view word);

/// Appends everything wrong with working directories, images, isolation, how processes are shown
/// what they are, labels and files. Part of `check_spec`.
void check_programs(const JobSpec& spec, Errors& errors);

}  // namespace orrery
