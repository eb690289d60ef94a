// Files that users name and programs write at once.
#pragma once

#include <filesystem>
#include <string_view>

namespace orrery::cli {

/// Gives the file these bytes. A regular file has the old or the new ones, whole, whenever this is
/// interrupted or the disk is full: they go to `path`.unfinished first, which takes its place, with
/// its rights. What is no regular file is written to as it is; so is a file whose folder takes no
/// other one. False, with errno set, where it cannot be written; then nothing unfinished is left.
bool write_whole_file(const std::filesystem::path& path, std::string_view text);

}  // namespace orrery::cli
