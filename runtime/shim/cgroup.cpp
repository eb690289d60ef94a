#include "runtime/shim/cgroup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {
namespace {

bool write_word(const std::string& path, std::string_view word) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         write(file.get(), word.data(), word.size()) == static_cast<ssize_t>(word.size());
}

/// Where a hierarchy is mounted, and which of its groups is seen there as the topmost.
struct Hierarchy {
  std::string mounted_at;
  std::string root;
};

/// The unified hierarchy where `controller` is empty.
std::optional<Hierarchy> hierarchy_of(std::string_view controller) {
  std::istringstream lines(read_file("/proc/self/mountinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped;
    Hierarchy found;
    words >> skipped >> skipped >> skipped >> found.root >> found.mounted_at;
    while (words >> skipped && skipped != "-") {
    }
    std::string type;
    std::string source;
    std::string options;
    words >> type >> source >> options;
    if (controller.empty()
            ? type == "cgroup2"
            : type == "cgroup" && ("," + options + ",").find("," + std::string(controller) + ",") !=
                                      std::string::npos)
      return found;
  }
  return std::nullopt;
}

std::string own_group(std::string_view controller) {
  std::istringstream lines(read_file("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controller) return line.substr(second + 1);
  }
  return {};
}

std::string base_in(std::string_view controller) {
  const std::optional<Hierarchy> hierarchy = hierarchy_of(controller);
  if (!hierarchy) return {};
  std::string own = own_group(controller);
  if (hierarchy->root != "/" && own.starts_with(hierarchy->root))
    own.erase(0, hierarchy->root.size());
  while (!own.empty() && own.back() == '/') own.pop_back();
  std::string base = hierarchy->mounted_at + own;
  const std::string trial = base + "/orrery-trial-" + std::to_string(getpid());
  if (!make_cgroup(trial)) return {};
  const bool works = access((trial + "/cgroup.procs").c_str(), W_OK) == 0;
  rmdir(trial.c_str());
  return works ? base : std::string();
}

std::vector<std::string> groups_in(const std::string& group) {
  std::vector<std::string> out;
  DIR* const folder = opendir(group.c_str());
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..")
      out.push_back(group + "/" + std::string(name));
  }
  closedir(folder);
  return out;
}

std::vector<pid_t> members_in(const std::string& group) {
  std::vector<pid_t> out;
  std::istringstream numbers(read_file(group + "/cgroup.procs").value_or(""));
  for (pid_t pid = 0; numbers >> pid;) out.push_back(pid);
  for (const std::string& below : groups_in(group))
    for (const pid_t pid : members_in(below)) out.push_back(pid);
  return out;
}

}  // namespace

std::string find_cgroup_base() {
  const std::string unified = base_in("");
  return unified.empty() ? base_in("freezer") : unified;
}

bool make_cgroup(const std::string& group) {
  return mkdir(group.c_str(), 0755) == 0 || errno == EEXIST;
}

std::string procs_file_of(const std::string& group) { return group + "/cgroup.procs"; }

bool enter_cgroup(const char* procs_file) {
  const int file = open(procs_file, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool entered = write(file, "0", 1) == 1;
  close(file);
  return entered;
}

bool cgroup_is_empty(const std::string& group) { return members_in(group).empty(); }

void kill_cgroup(const std::string& group) {
  if (write_word(group + "/cgroup.kill", "1")) return;
  // Frozen processes make no new ones; what is killed dies when it thaws.
  const bool frozen =
      write_word(group + "/cgroup.freeze", "1") || write_word(group + "/freezer.state", "FROZEN");
  for (const pid_t pid : members_in(group)) kill(pid, SIGKILL);
  if (!frozen) return;
  if (!write_word(group + "/cgroup.freeze", "0")) write_word(group + "/freezer.state", "THAWED");
}

bool remove_cgroup(const std::string& group) {
  for (const std::string& below : groups_in(group))
    if (!remove_cgroup(below)) return false;
  return rmdir(group.c_str()) == 0 || errno == ENOENT;
}

}  // namespace orrery::runtime
