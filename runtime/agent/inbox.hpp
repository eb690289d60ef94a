// Where other threads leave things for the agent's one thread.
#pragma once

#include <sys/eventfd.h>

#include <mutex>
#include <utility>
#include <vector>

#include "core/base/invariant.hpp"
#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {

/// A list and a descriptor that is readable while something is in it.
template <class T>
class Inbox {
 public:
  Inbox() : knocker_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    invariant(knocker_.is_open(), "the system gives an event descriptor");
  }

  /// Any thread.
  void push(T thing) {
    {
      const std::lock_guard lock(mutex_);
      things_.push_back(std::move(thing));
    }
    eventfd_write(knocker_.get(), 1);
  }

  /// The one thread: all that is there, in its order.
  std::vector<T> take() {
    eventfd_t knocks = 0;
    eventfd_read(knocker_.get(), &knocks);
    const std::lock_guard lock(mutex_);
    return std::exchange(things_, {});
  }

  int descriptor() const { return knocker_.get(); }

 private:
  Descriptor knocker_;
  std::mutex mutex_;
  std::vector<T> things_;
};

}  // namespace orrery::runtime
