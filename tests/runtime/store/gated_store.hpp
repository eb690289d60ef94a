// A store that is slow, stands still, or fails, when the test says so.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "core/driver/memory_store.hpp"

namespace orrery::runtime {

/// A MemoryStore that is durable as far as it was synced. Its calls pass a gate that the test shuts
/// and opens; at call number `fails_at` it fails, once and for ever.
class GatedStore final : public StateStore {
 public:
  Status append(Epoch writer, std::span<const StoredRecord> records) override {
    if (Status passed = pass(); !passed) return passed;
    if (Status appended = content.append(writer, records); !appended) return appended;
    largest_group_ = std::max(largest_group_, content.durable().value - committed_);
    return Done{};
  }

  Sequence durable() const override { return Sequence{committed_}; }

  Status sync() override {
    if (Status passed = pass(); !passed) return passed;
    ++syncs;
    committed_ = content.durable().value;
    return Done{};
  }

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override {
    return content.read_from(first, visit);
  }

  Status save_snapshot(const StoredSnapshot& snapshot) override {
    if (Status passed = pass(); !passed) return passed;
    snapshot_after = content.durable();
    return content.save_snapshot(snapshot);
  }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return content.latest_snapshot();
  }

  void shut() {
    const std::lock_guard lock(mutex_);
    shut_ = true;
  }

  void open() {
    {
      const std::lock_guard lock(mutex_);
      shut_ = false;
    }
    opened_.notify_all();
  }

  /// Records that were committed together at most.
  std::uint64_t largest_group() const { return largest_group_; }

  MemoryStore content;                    ///< To be looked at while no thread writes.
  std::optional<std::uint64_t> fails_at;  ///< Set before the first call.
  std::uint64_t syncs = 0;
  Sequence snapshot_after;  ///< The last record that was there when a snapshot was saved.

 private:
  Status pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return !shut_; });
    if (fails_at && calls_++ >= *fails_at)
      return Error{ErrorCode::Unavailable, {}, 0, "journal", "the disk is gone; mount it"};
    return Done{};
  }

  std::mutex mutex_;
  std::condition_variable opened_;
  bool shut_ = false;
  std::uint64_t calls_ = 0;
  std::uint64_t largest_group_ = 0;
  std::atomic<std::uint64_t> committed_ = 0;
};

}  // namespace orrery::runtime
