// The machine that the stand-in for NVML tells of.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace orrery::runtime {

/// A file in a folder of its own, named to the stand-in while this lives.
class FakeMachine {
 public:
  explicit FakeMachine(std::string_view text)
      : folder_(std::filesystem::temp_directory_path() /
                ("orrery_fake_nvml_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    write(text);
    ::setenv("ORRERY_FAKE_NVML", file().c_str(), 1);
  }

  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  ~FakeMachine() {
    ::unsetenv("ORRERY_FAKE_NVML");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// Replaces what the file says, in one step.
  void write(std::string_view text) const {
    const std::filesystem::path next = folder_ / "next";
    std::ofstream(next) << text;
    std::filesystem::rename(next, file());
  }

  std::filesystem::path folder() const { return folder_; }

  static std::string library() { return ORRERY_FAKE_NVML; }

 private:
  std::filesystem::path file() const { return folder_ / "machine"; }

  std::filesystem::path folder_;
};

}  // namespace orrery::runtime
