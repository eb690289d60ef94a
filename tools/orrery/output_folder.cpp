#include "tools/orrery/output_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "tools/console/whole_file.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".orrery-results";
constexpr const char* kMarkText = "Results of orrery; replaced by the next run.\n";
constexpr const char* kLock = ".lock";

Error cannot(const fs::path& path, const std::string& what, const std::error_code& code) {
  return {.code = ErrorCode::InvalidInput,
          .subject = path.string(),
          .message = what + ": " + code.message() + "; name a folder that can be written"};
}

/// Why `path` must not be replaced; nothing where it may.
std::optional<Error> not_ours(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::symlink_status(path, code);
  if (!fs::exists(status)) return std::nullopt;
  if (!fs::is_directory(status))
    return Error{.code = ErrorCode::Conflict,
                 .subject = path.string(),
                 .message =
                     "is no folder, needed a folder that is new, empty or of an earlier run; "
                     "name another one"};
  if (fs::is_empty(path, code) || fs::exists(path / kMark, code)) return std::nullopt;
  return Error{.code = ErrorCode::Conflict,
               .subject = path.string(),
               .message =
                   "holds files that no run of orrery wrote, needed a folder that is new, "
                   "empty or of an earlier run; name another one"};
}

/// The folder that `path` names, if it may be written.
Result<fs::path> target_of(const std::string& path, const std::vector<std::string>& inputs) {
  fs::path target = fs::path(path).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "out/" names "out".
  if (target.empty())
    return Error{.subject = "--out", .message = "an empty path found, needed the name of a folder"};
  if (auto error = not_ours(target)) return *error;
  if (const Status kept = keeps_inputs(path, inputs); !kept) return kept.errors();
  return target;
}

// The mark goes last: what is left where the process is killed here is known to be ours.
void remove_marked(const fs::path& folder) {
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code))
    if (entry.path().filename() != kMark) fs::remove_all(entry.path(), code);
  fs::remove_all(folder, code);
}

}  // namespace

Status keeps_inputs(const std::string& out, const std::vector<std::string>& inputs) {
  std::error_code code;
  const fs::path target = fs::canonical(out, code);
  if (code) return Done{};  // What is not there yet holds nothing.
  Errors errors;
  for (const std::string& input : inputs) {
    const fs::path read = fs::canonical(input, code);
    if (code) continue;
    if (read == target)
      errors.push_back({.code = ErrorCode::Conflict,
                        .subject = "--out",
                        .message = out + " is read itself, needed another file to write; name "
                                         "another one"});
    else if (std::mismatch(target.begin(), target.end(), read.begin(), read.end()).first ==
             target.end())
      errors.push_back({.code = ErrorCode::Conflict,
                        .subject = "--out",
                        .message = out + " holds " + input +
                                   ", which is read and would be replaced; name another folder"});
  }
  if (!errors.empty()) return errors;
  return Done{};
}

Result<OutputFolder> OutputFolder::prepare(const std::string& path,
                                           const std::vector<std::string>& inputs) {
  auto target = target_of(path, inputs);
  if (!target) return target.errors();
  fs::path scratch = *target;
  scratch += ".partial-" + std::to_string(getpid());
  std::error_code code;
  fs::remove_all(scratch, code);
  fs::create_directories(scratch, code);
  if (code) return cannot(scratch, "cannot be made", code);
  return OutputFolder(std::move(*target), std::move(scratch));
}

Result<OutputFolder> OutputFolder::prepare_to_resume(const std::string& path,
                                                     const std::vector<std::string>& inputs) {
  auto target = target_of(path, inputs);
  if (!target) return target.errors();
  fs::path scratch = *target;
  scratch += ".unfinished";
  if (auto error = not_ours(scratch)) return *error;
  std::error_code code;
  fs::create_directories(scratch, code);
  if (code) return cannot(scratch, "cannot be made", code);
  // Marked from the beginning: a process that is killed cannot do it later.
  const Status marked = write_file(scratch / kMark, kMarkText);
  if (!marked) return marked.errors();
  const int lock = open((scratch / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return cannot(scratch, "cannot be locked", {errno, std::generic_category()});
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    close(lock);
    return Error{.code = ErrorCode::Conflict,
                 .subject = scratch.string(),
                 .message =
                     "another process writes there now, needed a folder of one's own; name "
                     "another one, or wait"};
  }
  OutputFolder folder(std::move(*target), std::move(scratch));
  folder.lock_ = lock;
  return folder;
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : target_(std::move(other.target_)),
      scratch_(std::exchange(other.scratch_, {})),
      lock_(std::exchange(other.lock_, -1)) {}

OutputFolder::~OutputFolder() {
  if (!scratch_.empty()) remove_marked(scratch_);
  if (lock_ >= 0) close(lock_);
}

Status OutputFolder::finish() {
  const Status marked = write_file(scratch_ / kMark, kMarkText);
  if (!marked) return marked;
  std::error_code unlocked;
  fs::remove(scratch_ / kLock, unlocked);
  if (auto error = not_ours(target_)) return *error;
  std::error_code code;
  fs::path old = target_;
  old += ".old-" + std::to_string(getpid());
  const bool replaces = fs::exists(target_, code);
  if (replaces) fs::rename(target_, old, code);
  if (code) return cannot(target_, "cannot be replaced", code);
  fs::rename(scratch_, target_, code);
  if (code) return cannot(target_, "cannot be made", code);
  scratch_.clear();
  if (replaces) remove_marked(old);
  return Done{};
}

Status write_file(const fs::path& path, std::string_view text) {
  if (write_whole_file(path, text)) return Done{};
  return Error{.subject = path.string(),
               .message = "cannot be written: " + std::string(std::strerror(errno)) +
                          "; free space there or name another folder"};
}

}  // namespace orrery::cli
