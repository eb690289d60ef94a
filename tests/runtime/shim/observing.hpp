// How a test sees what a process of its world has done.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace orrery::runtime {

/// The first line of a file that a process is about to write.
inline std::string line_of(const std::filesystem::path& path) {
  while (true) {
    std::ifstream in(path);
    std::string line;
    if (std::getline(in, line) && !in.eof()) return line;
    poll(nullptr, 0, 1);
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

/// What a process of the test waits at, without any work, until the test lets it through.
class Gate {
 public:
  /// Nothing may lie at `path` yet.
  explicit Gate(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0) << path_;
    // Both of its ends: neither side waits for the other one to open it, and what was written
    // stays.
    end_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_GE(end_, 0) << path_;
  }

  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  ~Gate() { close(end_); }

  /// The words of a shell that waits.
  std::string wait() const { return "read -r _ < " + path_; }

  /// Lets one through, now or when it comes.
  void open() const { EXPECT_EQ(write(end_, "\n", 1), 1) << path_; }

 private:
  std::string path_;
  int end_ = -1;
};

}  // namespace orrery::runtime
