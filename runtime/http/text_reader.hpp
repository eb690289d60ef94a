// Job files are read beside the I/O thread, which serves everybody.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/http/exchange.hpp"
#include "runtime/http/job_text.hpp"

namespace orrery::http {

/// Texts that wait to be read at most; each has up to `RequestLimits::body_bytes_max`.
inline constexpr std::size_t kTextsWaitingMax = 16;

/// Reads texts one after the other on a thread of its own, so that a large one delays only
/// clients that send texts too.
class TextReader {
 public:
  using Done = std::function<void(Result<ReadJobs>)>;

  /// `read` may be empty: then nothing can be read. `executor` is where answers are told.
  TextReader(ReadJobText read, std::shared_ptr<Executor> executor);
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;

  ~TextReader() { stop(); }

  /// Waits for the text at hand; those that wait are dropped. Not on its own thread, on which what
  /// waits may be destroyed: an owner that shares it with what waits calls this first.
  void stop();

  bool can_read() const { return static_cast<bool>(read_); }

  /// Any thread. False, and nothing is done, where too many wait already.
  bool read(JobText text, Done done);

 private:
  struct Task {
    JobText text;
    Done done;
  };

  void work();

  ReadJobText read_;
  std::shared_ptr<Executor> executor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace orrery::http
