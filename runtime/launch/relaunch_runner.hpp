// Runs the program that replaces nodes: ControllerConfig.relaunch_command.
//
// The names of the nodes follow the command's own arguments; what is known of them is in the
// variable ORRERY_RELAUNCH:
//
//     {"job": "default.train", "incident": 3, "nodes": [{"name": "gpu-1", "address": "10.0.0.1",
//      "host": "ipv4:10.0.0.1:40312", "connected": true, "devices": ["h200"],
//      "labels": {"group": "main", "rack": 0, "nvlink_domain": 0}}]}
//
// `address` is where workers of the node are reached, `host` where its agent's connection came
// from; both are empty, and `connected` false, of a node that this leader has not heard. The
// program answers when new machines have taken their places: exit code 0, and on standard output
// the names of those that were replaced, in words or lines. Any other exit code, other words, and
// silence beyond the time limit mean that none was; what it said last on standard error is the
// reason. No shell is involved, and standard input is empty.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::runtime {

class RelaunchRunner {
 public:
  /// Names that were replaced; or none, and why.
  using Done = std::function<void(std::vector<std::string> replaced, std::string error)>;

  /// Programs at once; more are refused.
  static constexpr std::size_t kAtOnceMax = 16;

  /// `command`: a program, searched on PATH unless it has a "/", and its first arguments.
  explicit RelaunchRunner(std::vector<std::string> command);

  RelaunchRunner(const RelaunchRunner&) = delete;
  RelaunchRunner& operator=(const RelaunchRunner&) = delete;

  /// As stop().
  ~RelaunchRunner();

  /// Returns at once; `done` is called once, on a thread of this object (on the caller's where
  /// there are too many), or never after stop(). The program and its children are killed after
  /// `timeout`. Any thread.
  void run(const std::vector<std::string>& nodes,
           const std::string& description,
           Duration timeout,
           Done done);

  /// Kills what runs and waits for it: no `done` is under way or called from here on.
  void stop();

 private:
  struct Run {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> ended;
  };

  void forget_ended();

  const std::vector<std::string> command_;
  std::mutex mutex_;
  std::atomic<bool> stopping_{false};
  std::vector<Run> runs_;
};

}  // namespace orrery::runtime
