// A folder of its own for a fuzz target whose reader wants files.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace orrery::tests {

/// Made once per process, in memory where Linux offers that; gone with the process.
class FuzzFolder {
 public:
  FuzzFolder() : path_(parent() / ("orrery_fuzz_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }

  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;

  ~FuzzFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  /// Writes `text` to the file `name`, relative to the folder, and gives its path. Stops the
  /// process where that fails: the reader would be tested on nothing.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.flush();
    if (!out) std::abort();
    return file;
  }

 private:
  static std::filesystem::path parent() {
    const std::filesystem::path in_memory = "/dev/shm";
    return std::filesystem::is_directory(in_memory) ? in_memory
                                                    : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

}  // namespace orrery::tests
