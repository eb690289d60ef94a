// Workers' logs on their way to the controller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/units.hpp"
#include "runtime/link/messages.hpp"
#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {

/// Answers requests for logs piece by piece, so that no long log fills the stream. A request that
/// follows a log goes on through its rotations until the worker has ended. Used by one thread.
class LogSender {
 public:
  /// Nothing is read while so much waits in the stream: beats and reports come after it.
  static constexpr std::size_t kWaitingMax = 512 << 10;

  /// `folder_of`: of a worker that is known, else empty. `runs`: whether it may still write.
  /// `predecessor_of`: the start before it of the replica that a request names.
  LogSender(std::function<std::string(const WorkerName&)> folder_of,
            std::function<bool(const WorkerName&)> runs,
            std::function<std::optional<WorkerName>(const LogRequest&)> predecessor_of,
            std::int32_t log_files)
      : folder_of_(std::move(folder_of)),
        runs_(std::move(runs)),
        predecessor_of_(std::move(predecessor_of)),
        log_files_(log_files) {}

  /// Takes on, or cancels, a request.
  void request(const LogRequest& request, Instant now);

  /// What is to be sent now: at most one piece for each request, in turn. `waiting`: bytes that the
  /// stream has not got rid of yet. Logs come at the speed of the stream, and leave room and time
  /// in it for what else the agent says.
  std::vector<LogChunk> take(Instant now, std::size_t waiting);

  /// When `take` may have something to give.
  Instant next_at() const { return open_.empty() ? Instant::never() : next_at_; }

  /// The stream is gone, and with it the request for this log.
  void clear() { open_.clear(); }

 private:
  struct Open {
    WorkerName worker;
    std::string newest;            ///< Path of the file that is written.
    std::deque<Descriptor> files;  ///< Oldest first; the last one is or was `newest`.
    bool follow = false;
    std::int64_t position = -1;  ///< Bytes of the log before the next one read; -1: not known.
  };

  std::string open_files(const LogRequest& request, Open& open) const;
  bool read_piece(Open& open, LogChunk& chunk) const;
  bool open_successors(Open& open) const;

  std::function<std::string(const WorkerName&)> folder_of_;
  std::function<bool(const WorkerName&)> runs_;
  std::function<std::optional<WorkerName>(const LogRequest&)> predecessor_of_;
  std::int32_t log_files_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t turn_ = 0;  ///< From this request on the next `take` begins.
  std::vector<LogChunk> refusals_;
  Instant next_at_;
};

}  // namespace orrery::runtime
