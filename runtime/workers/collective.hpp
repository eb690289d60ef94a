// What workers do together: sum floats, wait for each other, and begin anew in another generation.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "runtime/workers/rendezvous.hpp"

namespace orrery::worker {

/// The ranks that work together in one generation, and which of them this is.
struct Group {
  Meeting meeting;  ///< Its generation is the prefix of everything that they tell each other.
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
};

/// How long things may take.
struct CollectiveTimes {
  Milliseconds build{60'000};      ///< Until all of a generation have found each other.
  Milliseconds operation{30'000};  ///< One all_reduce or barrier.
};

/// A group's collective operations. One thread calls them; `cancel_before` may come from any.
///
/// After an operation that was not Done the group is left: every other call fails until `rebuild`
/// for a newer generation. Leaving closes all connections at once, so that one rank's error is
/// every rank's. A rank that has no more to do calls `barrier` and then leaves; some may find that
/// barrier ended by others that are through it and gone.
class Collective {
 public:
  explicit Collective(const CollectiveTimes& times) : times_(times) {}

  virtual ~Collective() = default;

  /// `ring`, `gloo`, `nccl`.
  virtual std::string_view name() const = 0;

  /// Whether all_reduce wants the floats in the memory of the device.
  virtual bool takes_device_memory() const { return false; }

  /// Leaves the group there was and builds for this one: all its ranks call it.
  Outcome rebuild(const Group& group);

  /// Replaces every float by the sum over all ranks; the same bits on each. All ranks bring
  /// equally many.
  Outcome all_reduce(std::span<float> floats);

  /// Returns once all ranks have called it.
  Outcome barrier();

  /// Ends what is under way in a generation before this one, now and later, as Cancelled.
  void cancel_before(std::uint64_t generation);

  /// Gives up the group.
  void leave();

 protected:
  /// Limits of the operation under way.
  Limits limits(Milliseconds time) const { return limits(Deadline::in(time)); }

  const CollectiveTimes& times() const { return times_; }

  const Group& group() const { return group_; }

  const Cancel& cancel() const { return *cancel_; }

  /// Connects the group. `meeting` is null in a group of one.
  virtual Outcome build(Rendezvous* meeting, const Limits& limits) = 0;
  virtual Outcome do_all_reduce(std::span<float> floats, const Limits& limits) = 0;
  virtual Outcome do_barrier(const Limits& limits) = 0;

  /// Closes every connection. Also called where nothing was built; from destructors of objects that
  /// need it.
  virtual void close() = 0;

 private:
  Limits limits(Deadline deadline) const {
    return {deadline, *cancel_, meeting_ ? meeting_->lifeline() : -1};
  }

  Outcome meet_and_build(Deadline deadline);
  Outcome open_meeting(const Limits& limits);
  Outcome agree_on_backend(Rendezvous& meeting);
  Outcome ended(Outcome outcome);

  CollectiveTimes times_;
  Group group_;
  bool in_group_ = false;
  std::unique_ptr<RendezvousServer> server_;  ///< Of rank 0.
  std::unique_ptr<Rendezvous> meeting_;       ///< Null in a group of one.

  std::mutex mutex_;                    ///< Guards what cancel_before shares.
  std::uint64_t cancelled_before_ = 0;  ///< Generations below this are over.
  std::uint64_t generation_ = 0;        ///< That of `cancel_`.
  std::shared_ptr<Cancel> cancel_ = std::make_shared<Cancel>();
};

}  // namespace orrery::worker
