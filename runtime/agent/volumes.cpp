#include "runtime/agent/volumes.hpp"

#include <unistd.h>

#include <filesystem>
#include <utility>

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

Error volume_refused(const std::string& volume, const std::string& message) {
  return {ErrorCode::InvalidInput, {}, 0, "volume " + volume, message};
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

bool climbs(const fs::path& path) {
  for (const fs::path& part : path)
    if (part == "..") return true;
  return false;
}

std::string list_of(const std::vector<std::string>& roots) {
  std::string out;
  for (const std::string& root : roots) out += (out.empty() ? "" : ", ") + root;
  return out.empty() ? "none; name some in the agent's volume_roots" : out;
}

}  // namespace

Result<std::vector<Volume>> find_volumes(const std::vector<std::string>& volumes,
                                         const std::vector<std::string>& roots) {
  std::vector<Volume> out;
  Errors errors;
  for (const std::string& text : volumes) {
    const std::size_t colon = text.find(':');
    Volume volume{text.substr(0, colon),
                  colon == std::string::npos ? std::string() : text.substr(colon + 1)};
    if (volume.source.empty() || volume.source.front() != '/' || volume.target.empty() ||
        climbs(volume.target)) {
      errors.push_back(volume_refused(
          text, "needed source:target, the source an absolute path, the target without \"..\""));
      continue;
    }
    std::error_code error;
    const fs::path source = fs::canonical(volume.source, error);
    if (error) {
      errors.push_back(volume_refused(text, "its source is not on this node: " + error.message()));
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

Result<std::vector<BindMount>> place_volumes(const std::vector<Volume>& volumes,
                                             const std::string& work) {
  std::vector<BindMount> mounts;
  Errors errors;
  for (const Volume& volume : volumes) {
    const std::string text = volume.source + ":" + volume.target;
    std::error_code error;
    if (volume.is_relative()) {
      const fs::path link = fs::path(work) / volume.target;
      fs::create_directories(link.parent_path(), error);
      if (!error) fs::create_symlink(volume.source, link, error);
      if (error) errors.push_back(volume_refused(text, "it cannot be linked: " + error.message()));
      continue;
    }
    const fs::path target = fs::canonical(volume.target, error);
    if (!error && target == fs::path(volume.source)) continue;  // It is there already.
    if (error)
      errors.push_back(volume_refused(
          text,
          "its target is not on this node; make it, or give a target relative to the worker"));
    else if (geteuid() != 0)
      errors.push_back(volume_refused(
          text, "only an agent that is root can mount it; give a target relative to the worker"));
    else
      mounts.push_back({volume.source, target.string()});
  }
  if (!errors.empty()) return errors;
  return mounts;
}

}  // namespace orrery::runtime
