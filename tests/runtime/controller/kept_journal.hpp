// A journal for tests that outlives the controllers which write it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "tests/runtime/controller/daemon_in_test.hpp"

namespace orrery::runtime::tests {

/// A journal in memory that outlives its users, on a disk that is full while the test says so.
class KeptJournal {
 public:
  /// Is neither opened nor written to while it is set.
  std::atomic<bool> full{false};
  /// It opens though it is full, as a file does that is there already.
  std::atomic<bool> opens{false};
  /// Writing takes as long as it is set.
  std::atomic<bool> lags{false};

  void catch_up() {
    lags = false;
    lags.notify_all();
  }

  std::atomic<int> opened{0};

  OpenStore opener() {
    return [this](const Leadership&) -> Result<std::unique_ptr<StateStore>> {
      if (full && !opens) return refusal();
      ++opened;
      return std::unique_ptr<StateStore>(std::make_unique<Use>(*this));
    };
  }

 private:
  class Use final : public StateStore {
   public:
    explicit Use(KeptJournal& journal) : journal_(journal), store_(journal.store_) {}

    Status append(Epoch writer, std::span<const StoredRecord> records) override {
      journal_.lags.wait(true);
      if (journal_.full) return refusal();
      return store_.append(writer, records);
    }

    Sequence durable() const override { return store_.durable(); }

    Status sync() override { return journal_.full ? refusal() : store_.sync(); }

    Status read_from(Sequence first,
                     const std::function<bool(const StoredRecord&)>& visit) override {
      return store_.read_from(first, visit);
    }

    Status save_snapshot(const StoredSnapshot& snapshot) override {
      return store_.save_snapshot(snapshot);
    }

    Result<std::optional<StoredSnapshot>> latest_snapshot() override {
      return store_.latest_snapshot();
    }

   private:
    KeptJournal& journal_;
    MemoryStore& store_;
  };

  static Error refusal() {
    return {ErrorCode::Unavailable, "journal", 0, {}, "the disk is full; free space"};
  }

  MemoryStore store_;
};

}  // namespace orrery::runtime::tests
