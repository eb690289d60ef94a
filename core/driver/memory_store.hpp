// Stores that need no disk.
#pragma once

#include <vector>

#include "core/driver/state_store.hpp"

namespace orrery {

/// The journal in memory: for tests and for replay within one process. Durable at once.
class MemoryStore final : public StateStore {
 public:
  Status append(Epoch writer, std::span<const StoredRecord> records) override;

  Sequence durable() const override { return Sequence{entries_.size()}; }

  Status sync() override { return Done{}; }

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override;

  Status save_snapshot(const StoredSnapshot& snapshot) override;

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return std::optional<StoredSnapshot>(snapshot_);
  }

 private:
  struct Entry {
    Digest chain;
    std::size_t begin = 0;
    std::uint32_t size = 0;
    std::uint16_t version = 0;
  };

  std::vector<Entry> entries_;
  std::vector<std::byte> bytes_;
  std::optional<StoredSnapshot> snapshot_;
  Epoch leader_;  ///< The highest that has appended.
};

/// Keeps nothing but the count: for runs whose journal will not be read. The chain digest is the
/// driver's, so such a run can still be compared with a recorded one.
class NullStore final : public StateStore {
 public:
  Status append(Epoch, std::span<const StoredRecord> records) override {
    if (!records.empty()) last_ = records.back().sequence;
    return Done{};
  }

  Sequence durable() const override { return last_; }

  Status sync() override { return Done{}; }

  Status read_from(Sequence, const std::function<bool(const StoredRecord&)>&) override {
    return Done{};
  }

  Status save_snapshot(const StoredSnapshot&) override { return Done{}; }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return std::optional<StoredSnapshot>{};
  }

 private:
  Sequence last_;
};

}  // namespace orrery
