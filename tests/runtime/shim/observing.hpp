// How a test sees what a process of its world has done.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

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
  /// Never a path that was in use before: a process that an earlier test has left behind would
  /// write into this one's files.
  explicit Scratch(const std::string& name) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / ("orrery-" + name + "-XXXXXX")).string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    EXPECT_FALSE(path_.empty()) << pattern;
    // Workers of another user go through it.
    chmod(path_.c_str(), 0755);
  }

  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  ~Scratch() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace orrery::runtime
