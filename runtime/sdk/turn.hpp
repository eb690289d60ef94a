// The turn on a worker's devices, for workers that share them.
#pragma once

#include <memory>

namespace orrery::sdk {

namespace detail {

class Turns;
struct Wish;

}  // namespace detail

/// As long as it lives, no other worker of the job that asks for its turn has it on any of this
/// worker's devices (docs/workers.md). The SDK renews it; a process that stands still for longer
/// than the lease is killed by its agent. Made by Worker::turn.
///
///     {
///       const Turn turn = worker.turn();
///       learn();  // The devices are this worker's.
///     }
class Turn {
 public:
  /// Holds nothing.
  Turn() = default;

  Turn(std::shared_ptr<detail::Turns> turns, std::shared_ptr<detail::Wish> wish);
  Turn(Turn&&) noexcept = default;
  Turn& operator=(Turn&& other) noexcept;
  ~Turn();

  /// Gives it back before it is destroyed; free its memory on the devices first.
  void release();

 private:
  std::shared_ptr<detail::Turns> turns_;
  std::shared_ptr<detail::Wish> wish_;
};

}  // namespace orrery::sdk
