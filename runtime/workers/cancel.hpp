// A switch that is set once, from any thread, and wakes the threads that poll it.
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>

#include "core/base/invariant.hpp"
#include "runtime/workers/descriptor.hpp"

namespace orrery::worker {

class Cancel {
 public:
  Cancel() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    invariant(descriptor_.is_open(), "no descriptors are left for an eventfd");
  }

  void set() {
    set_.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(descriptor_.number(), &one, sizeof one);
  }

  bool is_set() const { return set_.load(); }

  /// Readable, for good, once it is set.
  int descriptor() const { return descriptor_.number(); }

 private:
  Descriptor descriptor_;
  std::atomic<bool> set_ = false;
};

}  // namespace orrery::worker
