// Files that appear whole or not at all.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::runtime {

/// One file to write.
struct NewFile {
  std::string path;
  std::string content;
  bool secret = false;  ///< Only its owner may read it (mode 0600); otherwise all may (0644).
};

/// What becomes of files that are there already.
enum class Existing {
  Refuse,   ///< Nothing is written.
  Replace,  ///< Each is replaced at once by a whole new one.
};

/// Writes all of them durably, or none: each is written beside its place under another name first.
/// A crash leaves at most such files (".NAME.new"). With Replace, and a disk that fails between two
/// of the last renamings, some are new and some old. Errors: files that are there (all of them),
/// folders that are not, what the system refuses.
Status write_files(const std::vector<NewFile>& files, Existing existing);

/// The content. Errors: it cannot be read.
Result<std::string> read_whole_file(const std::string& path);

}  // namespace orrery::runtime
