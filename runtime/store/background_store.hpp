// A store that commits on a thread of its own, so that appending never waits for a disk.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <variant>
#include <vector>

#include "core/driver/state_store.hpp"

namespace orrery::runtime {

struct BackgroundOptions {
  /// Records that are committed together at most, but for those of one append.
  std::uint64_t group_max = 1000;

  /// How long the first record of a group waits for more where `sync` was not called.
  std::chrono::microseconds linger{2000};

  /// Bytes of records and snapshots that may wait; beyond it `append` and `save_snapshot` wait. One
  /// append or snapshot that is larger than all of it waits until nothing else does.
  std::size_t queue_bytes_max = std::size_t{64} << 20;
};

/// Wraps a store whose `sync` waits. `append` and `save_snapshot` copy and return; the writer
/// thread takes all that is queued, appends it in order, syncs once, and then raises `durable`.
/// What the inner store refuses is told by every later call, with its code: Conflict where the
/// writer was deposed. Whatever was queued behind a refusal is forgotten, as after a crash.
///
/// One thread calls it, but for `durable`, which every thread may. Reading is for a leader that
/// takes over: nothing may have been appended yet.
class BackgroundStore final : public StateStore {
 public:
  /// `inner` is not owned and outlives this; from the first append on the writer thread alone uses
  /// it, until destruction. `wake` is called on that thread each time that `durable` has risen, and
  /// when the inner store refused; it must make the world's `wait_events` return.
  BackgroundStore(StateStore& inner, std::function<void()> wake, BackgroundOptions options = {});

  BackgroundStore(const BackgroundStore&) = delete;
  BackgroundStore& operator=(const BackgroundStore&) = delete;

  /// Commits what is queued. Call `flush` before to learn what became of it.
  ~BackgroundStore() override;

  Status append(Epoch writer, std::span<const StoredRecord> records) override;

  Sequence durable() const override { return Sequence{durable_.load(std::memory_order_acquire)}; }

  /// Lets the group at hand wait for no more; never waits itself.
  Status sync() override;

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override;

  Status save_snapshot(const StoredSnapshot& snapshot) override;

  Result<std::optional<StoredSnapshot>> latest_snapshot() override;

  /// What the inner store has refused; never waits.
  Status status() const;

  /// Waits until all that was appended or saved so far is durable, or the inner store refused.
  Status flush();

  /// Bytes that wait to be committed.
  std::size_t queued_bytes() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// The records of one append, their bytes side by side.
  struct Batch {
    Epoch writer;
    std::vector<StoredRecord> records;  ///< Their spans point into `bytes`.
    std::vector<std::byte> bytes;
  };

  struct Item {
    std::variant<Batch, StoredSnapshot> body;
    std::size_t bytes = 0;
    std::uint64_t records = 0;
    Clock::time_point since;
  };

  Status refuse_what_cannot_follow(Epoch writer, std::span<const StoredRecord> records) const;
  Status enqueue(Item item);
  void write();
  bool wait_for_group(std::unique_lock<std::mutex>& lock);
  std::vector<Item> take_group();
  Status commit(const std::vector<Item>& group);

  StateStore& inner_;
  std::function<void()> wake_;
  BackgroundOptions options_;
  std::atomic<std::uint64_t> durable_;
  Sequence last_;         ///< Appended; the caller's thread only.
  Epoch leader_;          ///< Of the last append; the caller's thread only.
  bool started_ = false;  ///< Something was queued; the caller's thread only.

  mutable std::mutex mutex_;
  std::condition_variable queued_;     ///< Tells the writer.
  std::condition_variable committed_;  ///< Wakes callers that wait for room or for the end.
  std::deque<Item> queue_;
  std::size_t bytes_ = 0;      ///< Of the queue and of the group under way.
  std::uint64_t records_ = 0;  ///< Of the queue.
  bool urgent_ = false;        ///< `sync` was called since the last group.
  bool writing_ = false;       ///< A group is under way.
  bool stopping_ = false;
  std::optional<Errors> refused_;  ///< By the inner store.
  std::thread thread_;
};

}  // namespace orrery::runtime
