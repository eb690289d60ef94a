#include "runtime/security/secret_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string_view>

#include "core/base/stream_text.hpp"

namespace orrery::runtime {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, begin) + "." + path.substr(begin) + ".new";
}

Error file_refused(const std::string& path, int reason) {
  return {ErrorCode::InvalidInput,
          path,
          0,
          "",
          std::string("cannot be written (") + std::strerror(reason) +
              "), a folder that this user may write to is needed; check path, rights and space"};
}

/// 0, or what the system refused with. The file is new and of this user alone while it is written.
int write_durably(const NewFile& file, const std::string& path) {
  ::unlink(path.c_str());  // What an earlier crash left.
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return errno;
  int reason = 0;
  std::string_view left = file.content;
  while (!left.empty() && reason == 0) {
    const ssize_t written = ::write(descriptor, left.data(), left.size());
    if (written >= 0)
      left.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      reason = errno;
  }
  if (reason == 0 && !file.secret && ::fchmod(descriptor, 0644) != 0) reason = errno;
  if (reason == 0 && ::fsync(descriptor) != 0) reason = errno;
  if (::close(descriptor) != 0 && reason == 0) reason = errno;
  return reason;
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

/// 0, or what the system refused with. With Refuse a file that appeared meanwhile is kept.
int put_in_place(const std::string& from, const std::string& to, Existing existing) {
  if (existing == Existing::Replace) return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  ::unlink(from.c_str());
  return 0;
}

Errors those_there(const std::vector<NewFile>& files) {
  Errors errors;
  for (const NewFile& file : files) {
    struct stat status {};

    if (::lstat(file.path.c_str(), &status) == 0)
      errors.push_back({ErrorCode::Conflict,
                        file.path,
                        0,
                        "",
                        "is there already, nothing is overwritten; choose another folder or name, "
                        "or add --force to replace it"});
  }
  return errors;
}

}  // namespace

Status write_files(const std::vector<NewFile>& files, Existing existing) {
  if (existing == Existing::Refuse)
    if (Errors errors = those_there(files); !errors.empty()) return errors;
  const auto remove_drafts = [&] {
    for (const NewFile& file : files) ::unlink(beside(file.path).c_str());
  };
  for (const NewFile& file : files)
    if (const int reason = write_durably(file, beside(file.path)); reason != 0) {
      remove_drafts();
      return file_refused(file.path, reason);
    }
  for (std::size_t i = 0; i < files.size(); ++i) {
    const int reason = put_in_place(beside(files[i].path), files[i].path, existing);
    if (reason == 0) continue;
    remove_drafts();
    if (existing == Existing::Refuse)
      for (std::size_t k = 0; k < i; ++k) ::unlink(files[k].path.c_str());
    return file_refused(files[i].path, reason);
  }
  for (const NewFile& file : files) sync_folder(folder_of(file.path));
  return Done{};
}

Result<std::string> read_whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::optional<std::string> text = rest_of(in);
  if (!text)
    return Error{ErrorCode::NotFound,
                 path,
                 0,
                 "",
                 "cannot be read, a readable file is needed; check path and rights"};
  return *std::move(text);
}

}  // namespace orrery::runtime
