#include "tools/processes/remains.hpp"

#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>

#include "core/base/stream_text.hpp"

namespace orrery::cli {
namespace {

/// A file of /proc as strings that end with a zero byte; empty where it cannot be read, also
/// because its process ended after the file was opened.
std::vector<std::string> strings_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text = rest_of(file).value_or("");
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool has_variable_in(const std::vector<std::string>& environment, const std::string& folder) {
  for (const std::string& variable : environment)
    if (variable.starts_with("ORRERY_") && variable.find("=" + folder + "/") != variable.npos)
      return true;
  return false;
}

bool is_shim_in(const std::vector<std::string>& words, const std::string& folder) {
  if (words.empty() || !words[0].ends_with("orrery-shim")) return false;
  for (const std::string& word : words)
    if (word.find(folder + "/") != word.npos) return true;
  return false;
}

}  // namespace

std::vector<pid_t> processes_of(const std::string& folder) {
  std::vector<pid_t> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return out;
  while (const dirent* entry = ::readdir(proc.get())) {
    pid_t pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, pid).ptr != end || pid == ::getpid()) continue;
    const std::string base = std::string("/proc/") + entry->d_name;
    if (has_variable_in(strings_in(base + "/environ"), folder) ||
        is_shim_in(strings_in(base + "/cmdline"), folder))
      out.push_back(pid);
  }
  return out;
}

}  // namespace orrery::cli
