// A folder of results that is there whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::cli {

/// Errors (Conflict): one of the files that are read lies in `out`, or is it, so that the results
/// would take its place.
Status keeps_inputs(const std::string& out, const std::vector<std::string>& inputs);

/// Collects files in a temporary sibling, `NAME.partial-PID`, and puts it in place at the end.
/// Destroyed without `finish`, it leaves nothing behind and an older folder as it was.
///
/// A folder that is there already is replaced only if it is empty or carries the mark that `finish`
/// leaves in every folder (a file named `.orrery-results`).
class OutputFolder {
 public:
  /// Makes the sibling and the folders above it. Errors: a file or a folder that is not ours stands
  /// there, or one with a file of `inputs`, which are read (Conflict); or it cannot be made
  /// (InvalidInput).
  static Result<OutputFolder> prepare(const std::string& path,
                                      const std::vector<std::string>& inputs = {});

  /// As `prepare`, for work that may be taken up again: the sibling is `NAME.unfinished` and stays
  /// there when the process is killed, or after `keep`. What an earlier process left is there to
  /// begin with. Errors also: another process writes there now (Conflict).
  static Result<OutputFolder> prepare_to_resume(const std::string& path,
                                                const std::vector<std::string>& inputs = {});

  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();

  /// Where to write: the sibling.
  const std::filesystem::path& scratch() const { return scratch_; }

  /// Marks the folder and puts it in place.
  Status finish();

  /// Leaves the sibling as it is, for another process to go on with.
  void keep() { scratch_.clear(); }

 private:
  OutputFolder(std::filesystem::path target, std::filesystem::path scratch)
      : target_(std::move(target)), scratch_(std::move(scratch)) {}

  std::filesystem::path target_;
  std::filesystem::path scratch_;  // Empty once finished, kept or moved from.
  int lock_ = -1;                  // Of a sibling that others may take up; the kernel drops it.
};

/// write_whole_file(); errors name it and the system's reason.
Status write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace orrery::cli
