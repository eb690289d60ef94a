#include "runtime/agent/removals.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

enum class Outcome { Gone, More, Stuck };

/// Removes entries of the tree while `left` is above 0, and counts them off.
Outcome remove_some(const fs::path& path, int& left) {
  std::error_code failed;
  if (fs::symlink_status(path, failed).type() == fs::file_type::directory) {
    for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
      if (left <= 0) return Outcome::More;
      const Outcome outcome = remove_some(at->path(), left);
      if (outcome != Outcome::Gone) return outcome;
    }
    if (failed) return Outcome::Stuck;
  }
  if (left <= 0) return Outcome::More;
  --left;
  fs::remove(path, failed);
  return failed ? Outcome::Stuck : Outcome::Gone;
}

}  // namespace

Removals::Removals(std::string folder) : folder_(std::move(folder)) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    going_.push_back(entry.path().string());
    const std::string name = entry.path().filename().string();
    std::uint64_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    next_ = std::max(next_, number + 1);
  }
}

void Removals::take(const std::string& path) {
  std::error_code failed;
  if (fs::symlink_status(path, failed).type() == fs::file_type::not_found) return;
  fs::create_directory(folder_, failed);
  const std::string going = folder_ + "/" + std::to_string(next_++);
  fs::rename(path, going, failed);
  if (failed)
    fs::remove_all(path, failed);
  else
    going_.push_back(going);
}

void Removals::go_on(int entries) {
  std::error_code ignored;
  while (entries > 0 && !going_.empty()) {
    if (remove_some(going_.front(), entries) == Outcome::More) return;
    going_.pop_front();
  }
  if (going_.empty()) fs::remove(folder_, ignored);
}

}  // namespace orrery::runtime
