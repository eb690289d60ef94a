#include "tools/orrery/output_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".orrery-results";

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

}  // namespace

Result<OutputFolder> OutputFolder::prepare(const std::string& path) {
  fs::path target = fs::path(path).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "out/" names "out".
  if (target.empty())
    return Error{.subject = "--out", .message = "an empty path found, needed the name of a folder"};
  if (auto error = not_ours(target)) return *error;
  fs::path scratch = target;
  scratch += ".partial-" + std::to_string(getpid());
  std::error_code code;
  fs::remove_all(scratch, code);
  fs::create_directories(scratch, code);
  if (code) return cannot(scratch, "cannot be made", code);
  return OutputFolder(std::move(target), std::move(scratch));
}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : target_(std::move(other.target_)), scratch_(std::exchange(other.scratch_, {})) {}

OutputFolder::~OutputFolder() {
  std::error_code code;
  if (!scratch_.empty()) fs::remove_all(scratch_, code);
}

Status OutputFolder::finish() {
  const Status marked =
      write_file(scratch_ / kMark, "Results of orrery; replaced by the next run.\n");
  if (!marked) return marked;
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
  if (replaces) fs::remove_all(old, code);
  return Done{};
}

Status write_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return Done{};
  return Error{.subject = path.string(),
               .message = "cannot be written: " + std::string(std::strerror(errno)) +
                          "; free space there or name another folder"};
}

}  // namespace orrery::cli
