// How a test sees what a process of its world has done.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace orrery::runtime {

/// The first line of a file that a process is about to write.
inline std::string line_of(const std::filesystem::path& path) {
  while (true) {
    std::ifstream in(path);
    std::string line;
    if (std::getline(in, line) && !in.eof()) return line;
    sched_yield();
  }
}

/// A folder that goes with this object.
class Scratch {
 public:
  explicit Scratch(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("orrery-" + name + "-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(path_);
  }

  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  ~Scratch() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace orrery::runtime
