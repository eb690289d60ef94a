// A request to stop this process: SIGTERM from an agent, SIGINT from a keyboard.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/workers/cancel.hpp"
#include "runtime/workers/deadline.hpp"

namespace orrery::worker {

/// Takes both signals for the whole process, so it is made before any thread is.
class Drain {
 public:
  Drain();
  ~Drain();

  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// The signal that came; 0: none yet.
  int asked() const;

  /// Waits for so long, or until asked. Returns asked().
  int wait(Milliseconds time);

  /// Calls `wake` once asked, at once if that was before; an empty one ends it. It must not call
  /// this object.
  void on_asked(std::function<void()> wake);

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int signal_ = 0;
  std::function<void()> wake_;
  Descriptor signals_;
  Cancel end_;
  std::thread thread_;
};

}  // namespace orrery::worker
