// What gRPC orders between its threads, told to the thread sanitizer.
#pragma once

#include <atomic>

namespace orrery::runtime {

/// What one thread did before `pass` happens before what another does after `take`. gRPC promises
/// that of the start of an operation and the call that says that it is done, but where it is built
/// without the thread sanitizer, its locks cannot be seen, and each of our objects that it hands
/// from thread to thread would look like a race. To be used for what gRPC orders alone: more would
/// hide races of ours. Without that sanitizer both calls do nothing.
class Handoff {
 public:
#if defined(__SANITIZE_THREAD__)
  void pass() { passed_.fetch_add(1, std::memory_order_release); }

  void take() { passed_.load(std::memory_order_acquire); }

 private:
  std::atomic<unsigned> passed_ = 0;
#else
  void pass() {}

  void take() {}
#endif
};

}  // namespace orrery::runtime
