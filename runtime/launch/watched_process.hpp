// One program run to its end, with what it said.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::runtime {

/// What is read of each output; beyond, standard output is a failure and standard error is cut at
/// its front.
inline constexpr std::size_t kOutputMax = 1 << 20;
inline constexpr std::size_t kComplaintMax = 4 << 10;

/// How a program ended.
struct ProcessEnd {
  enum class Kind {
    Exited,      ///< By itself: `status` is its exit code, or 128 plus the signal.
    NotStarted,  ///< `complaint` says why.
    TimedOut,
    TooTalkative,
    Stopped,  ///< Because `stopping` was set.
  };
  Kind kind = Kind::NotStarted;
  int status = 0;
  std::string output;     ///< Standard output.
  std::string complaint;  ///< The end of standard error.
};

/// Runs `command` in a process group of its own, with this process's environment, `extra`
/// ("KEY=value") and an empty standard input, and waits for it. What is left of the group when it
/// ends, or is to end, is killed. `stopping` is looked at 20 times a second.
ProcessEnd run_watched(const std::vector<std::string>& command,
                       Duration timeout,
                       const std::atomic<bool>& stopping,
                       const std::vector<std::string>& extra = {});

}  // namespace orrery::runtime
