#include "runtime/agent/volumes.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/job/volume_text.hpp"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

Error volume_refused(const std::string& volume, const std::string& message) {
  return {ErrorCode::InvalidInput, {}, 0, "volume " + volume, message};
}

/// As the node is now; it may be mended.
Error volume_failed(const std::string& volume, const std::string& message) {
  return {ErrorCode::Unavailable, {}, 0, "volume " + volume, message};
}

bool lies_in(const fs::path& path, const fs::path& root) {
  auto in_path = path.begin();
  for (const fs::path& part : root) {
    if (part.empty()) continue;  // Of a slash at the end.
    if (in_path == path.end() || *in_path != part) return false;
    ++in_path;
  }
  return true;
}

std::string list_of(const std::vector<std::string>& roots) {
  std::string out;
  for (const std::string& root : roots) out += (out.empty() ? "" : ", ") + root;
  return out.empty() ? "none; name some in the agent's volume_roots" : out;
}

bool is_in_memory(const std::string& path) {
  struct statfs found {};

  return statfs(path.c_str(), &found) == 0 && found.f_type == TMPFS_MAGIC;
}

/// Whether a relative target lies in the worker's folder after links of other volumes: through one,
/// folders would be made as the agent's user wherever a worker has put a link.
bool stays_in(const std::string& work, const fs::path& path) {
  std::error_code error;
  const fs::path root = fs::canonical(work, error);
  const fs::path found = fs::weakly_canonical(path, error);
  return !error && lies_in(found, root);
}

Error leads_elsewhere(const std::string& text) {
  return volume_refused(text, "its target lies in another volume; take a target beside it");
}

/// Where a volume is mounted for the worker alone; made where it is missing and may be. Nothing:
/// `source` is there already, or what is there does as well.
Result<std::string> mount_point(const Volume& volume,
                                const VolumePlaces& places,
                                std::vector<std::string>& notices) {
  const std::string text = volume.source + ":" + volume.target;
  std::error_code error;
  const bool is_folder = volume.in_memory || fs::is_directory(volume.source, error);
  const std::string wanted =
      volume.is_relative() ? places.work + "/" + volume.target : volume.target;
  if (volume.is_relative() && !stays_in(places.work, wanted)) return leads_elsewhere(text);
  fs::path target = fs::canonical(wanted, error);
  if (!error && !volume.in_memory && target == fs::path(volume.source)) return std::string();
  if (!places.may_mount && !error && volume.in_memory && is_in_memory(target.string())) {
    notices.push_back("volume " + text + " is the node's own " + target.string() +
                      ", which others see too: this agent may not mount");
    return std::string();
  }
  if (!places.may_mount)
    return volume_refused(text,
                          "only an agent that may mount, as root does, can bring it to an absolute "
                          "target; give a target relative to the worker, or run the agent as root");
  if (error && is_folder && (places.may_make_targets || volume.is_relative())) {
    fs::create_directories(wanted, error);
    if (!error) target = fs::canonical(wanted, error);
  }
  if (error)
    return volume_failed(
        text,
        "its target is not on this node and " +
            (is_folder && places.may_make_targets ? "cannot be made: " + error.message()
                                                  : std::string("is not made for it")) +
            "; make it, or give a target relative to the worker");
  return target.string();
}

/// A relative target: a link in the worker's folder.
Status link_volume(const Volume& volume, const std::string& work) {
  std::error_code error;
  const fs::path link = fs::path(work) / volume.target;
  if (!stays_in(work, link.parent_path()))
    return leads_elsewhere(volume.source + ":" + volume.target);
  fs::create_directories(link.parent_path(), error);
  if (!error) fs::create_symlink(volume.source, link, error);
  if (!error) return Done{};
  return volume_failed(volume.source + ":" + volume.target,
                       "it cannot be linked: " + error.message());
}

/// Gives a folder the file `name` unless it has one. Workers may write there: no link of theirs is
/// followed. False, with errno set, where that fails.
bool write_new_file(const std::string& folder, const std::string& name, const std::string& text) {
  const int at = ::open(folder.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (at < 0) return false;

  struct stat there {};

  if (::fstatat(at, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) return ::close(at) == 0;
  const std::string unfinished = "." + name + ".new";
  ::unlinkat(at, unfinished.c_str(), 0);
  const int file =
      ::openat(at, unfinished.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644);
  std::string_view rest = text;
  while (file >= 0 && !rest.empty()) {
    const ssize_t written = ::write(file, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  const bool good = file >= 0 && rest.empty() && ::fchmod(file, 0644) == 0 &&
                    ::renameat(at, unfinished.c_str(), at, name.c_str()) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  ::close(at);
  errno = why;
  return good;
}

}  // namespace

bool may_mount() {
  static const bool found = [] {
    const pid_t child = fork();
    if (child == 0)
      _exit(unshare(CLONE_NEWNS) == 0 &&
                    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                ? 0
                : 1);
    int status = 1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return found;
}

Result<std::vector<Volume>> find_volumes(const std::vector<std::string>& volumes,
                                         const std::vector<std::string>& roots) {
  std::vector<Volume> out;
  Errors errors;
  for (const std::string& text : volumes) {
    const VolumeText said = parse_volume(text);
    // Of a manifest in an older journal: it is not mounted.
    if (text.ends_with(':') && said.target.empty()) continue;
    if (!has_sound_source(said) || !has_sound_target(said)) {
      errors.push_back(volume_refused(
          text,
          "needed source:target, the source an absolute path or the name of a folder of the job, "
          "the target without \"..\""));
      continue;
    }
    Volume volume{said.source, said.target, said.of_job, said.in_memory};
    if (volume.of_job) {
      out.push_back(std::move(volume));
      continue;
    }
    std::error_code error;
    const fs::path source = fs::canonical(volume.source, error);
    if (error) {
      errors.push_back(volume_failed(text, "its source is not on this node: " + error.message()));
      continue;
    }
    bool allowed = false;
    for (const std::string& root : roots) {
      const fs::path found = fs::canonical(root, error);
      allowed = allowed || (!error && lies_in(source, found));
    }
    if (!allowed) {
      errors.push_back(
          volume_refused(text,
                         "its source is " + source.string() +
                             ", which lies in no folder that this node allows: " + list_of(roots)));
      continue;
    }
    volume.source = source.string();
    out.push_back(std::move(volume));
  }
  if (!errors.empty()) return errors;
  return out;
}

Status make_job_folders(std::vector<Volume>& volumes, const std::string& job, bool with_memory) {
  for (Volume& volume : volumes) {
    if (!volume.of_job || (volume.in_memory && !with_memory)) continue;
    std::error_code error;
    const fs::path folder = fs::path(job) / volume.source;
    fs::create_directories(folder, error);
    // As Kubernetes does it: workers of the job may be of different users.
    if (!error) fs::permissions(folder, fs::perms::all, error);
    if (error)
      return volume_failed(volume.source + ":" + volume.target,
                           folder.string() + " cannot be made: " + error.message());
    volume.source = fs::canonical(folder, error).string();
  }
  return Done{};
}

Status write_job_files(const std::vector<JobFileSpec>& files,
                       const std::vector<Volume>& volumes,
                       const std::string& job) {
  for (const JobFileSpec& file : files) {
    const bool wanted = std::any_of(volumes.begin(), volumes.end(), [&](const Volume& volume) {
      return volume.of_job && volume.source == file.volume;
    });
    if (!wanted) continue;
    const fs::path folder = fs::path(job) / file.volume;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error || !write_new_file(folder.string(), file.name, file.text))
      return volume_failed(file.volume,
                           (folder / file.name).string() + " cannot be written: " +
                               (error ? error.message() : std::strerror(errno)));
  }
  return Done{};
}

Result<std::vector<BindMount>> place_volumes(std::vector<Volume> volumes,
                                             const VolumePlaces& places,
                                             std::vector<std::string>& notices) {
  const Status made = make_job_folders(volumes, places.job, !places.may_mount);
  if (!made) return made.errors();
  std::vector<BindMount> mounts;
  Errors errors;
  for (const Volume& volume : volumes) {
    if (volume.is_relative() && !(volume.in_memory && places.may_mount)) {
      if (volume.in_memory)
        notices.push_back("volume " + volume.source + ":" + volume.target +
                          " is a folder on disk, and not in memory: this agent may not mount");
      const Status linked = link_volume(volume, places.work);
      if (!linked) errors.push_back(linked.errors().front());
      continue;
    }
    const Result<std::string> target = mount_point(volume, places, notices);
    if (!target)
      errors.push_back(target.errors().front());
    else if (!target->empty())
      mounts.push_back({volume.in_memory ? std::string() : volume.source, *target});
  }
  if (!errors.empty()) return errors;
  return mounts;
}

}  // namespace orrery::runtime
