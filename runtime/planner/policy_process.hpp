// The process that runs a policy, seen from the controller: it can be killed whatever it does.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "runtime/planner/planner_frames.hpp"

namespace orrery::runtime {

/// What came of saying something to the process, or of waiting for its word.
enum class Exchange : std::uint8_t {
  Done,
  Late,     ///< The deadline passed.
  Ended,    ///< The process is gone, or has closed its end.
  TooLong,  ///< It announced a frame that is longer than allowed.
  Stopped,  ///< The controller ends.
};

/// A child process in a process group of its own, connected by its descriptor 3. Not shared between
/// threads; the thread that starts it must outlive it, for with that thread the kernel kills it.
class PolicyProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// `stop` is a descriptor that becomes readable when nothing is to be waited for any more.
  explicit PolicyProcess(int stop) : stop_(stop) {}

  ~PolicyProcess() { kill(); }

  PolicyProcess(const PolicyProcess&) = delete;
  PolicyProcess& operator=(const PolicyProcess&) = delete;

  /// Starts `words`, program and arguments; what ran before is killed. Its standard output goes to
  /// our standard error, as its own does. Errors: Unavailable.
  Status start(const std::vector<std::string>& words);

  bool runs() const { return pid_ > 0; }

  pid_t pid() const { return pid_; }

  Exchange write(std::span<const std::byte> bytes, Clock::time_point deadline);

  /// One frame: its kind, unchecked, and its payload, of `size_max` bytes at most.
  Exchange read(std::uint8_t& kind,
                std::vector<std::byte>& payload,
                std::size_t size_max,
                Clock::time_point deadline);

  /// Kills it and all that it started, and waits for its end.
  void kill();

  /// As `kill`, for one that has closed its end: gives it a moment to end by itself, and says how
  /// it ended: "killed by signal 11 (Segmentation fault)", "exit code 3".
  std::string end();

 private:
  Exchange await(short events, Clock::time_point deadline);
  Exchange read_all(std::span<std::byte> to, Clock::time_point deadline);
  void close_socket();

  int stop_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace orrery::runtime
