// The journal of a simulated run, kept in a file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/driver/state_store.hpp"
#include "runtime/store/sqlite_store.hpp"

namespace orrery::cli {

/// Counts a record as durable as soon as it is appended: nothing outside a simulation relies on it,
/// and waiting for the disk at every order would take a thousand times as long as the run. The file
/// is whole once `close` has returned.
class SimulatedJournal final : public StateStore {
 public:
  static Result<std::unique_ptr<SimulatedJournal>> create(const std::string& path) {
    auto store = runtime::SqliteStore::open(path, runtime::SqliteStore::Access::Append);
    if (!store) return store.errors();
    return std::unique_ptr<SimulatedJournal>(new SimulatedJournal(std::move(*store)));
  }

  Status append(Epoch writer, std::span<const StoredRecord> records) override {
    return file_->append(writer, records);
  }

  Sequence durable() const override { return file_->last(); }

  Status sync() override { return Done{}; }

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override {
    return file_->read_from(first, visit);
  }

  Status save_snapshot(const StoredSnapshot& snapshot) override {
    return file_->save_snapshot(snapshot);
  }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return file_->latest_snapshot();
  }

  Status close() { return file_->close(); }

 private:
  explicit SimulatedJournal(std::unique_ptr<runtime::SqliteStore> file) : file_(std::move(file)) {}

  std::unique_ptr<runtime::SqliteStore> file_;
};

}  // namespace orrery::cli
