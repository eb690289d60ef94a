// Where the journal and its snapshots live.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/result.hpp"

namespace orrery {

/// One journal record as stored.
struct StoredRecord {
  Sequence sequence;                 ///< From 1, without gaps.
  Digest chain;                      ///< Digest of this record's bytes after the chain before it.
  std::span<const std::byte> bytes;  ///< The encoded event (core/record/codec.hpp).
};

/// The state after a record, encoded.
struct StoredSnapshot {
  Sequence sequence;          ///< The last record that it contains.
  Digest chain;               ///< The journal's chain at that record.
  std::uint16_t version = 0;  ///< Record version of the program that wrote it.
  std::vector<std::byte> bytes;
};

/// An append-only journal with snapshots. Not shared between threads unless a store says so.
class StateStore {
 public:
  virtual ~StateStore() = default;

  /// Appends records that continue the journal without a gap, all or none. Returns at once where
  /// the store commits in the background; `durable()` tells how far it has come.
  virtual Status append(std::span<const StoredRecord> records) = 0;

  /// The last record that survives a crash from now on; 0 where none.
  virtual Sequence durable() const = 0;

  /// Waits until all that was appended is durable.
  virtual Status sync() = 0;

  /// Calls `visit` with the records from `first` on, in order, until it returns false.
  virtual Status read_from(Sequence first,
                           const std::function<bool(const StoredRecord&)>& visit) = 0;

  /// Keeps a snapshot beside the journal; older ones may be dropped.
  virtual Status save_snapshot(const StoredSnapshot& snapshot) = 0;

  /// The newest snapshot, if there is one.
  virtual Result<std::optional<StoredSnapshot>> latest_snapshot() = 0;
};

}  // namespace orrery
