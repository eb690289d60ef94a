// Where the journal and its snapshots live.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/record/version.hpp"

namespace orrery {

/// One journal record as stored.
struct StoredRecord {
  Sequence sequence;                 ///< From 1, without gaps.
  Digest chain;                      ///< Digest of this record's bytes after the chain before it.
  std::span<const std::byte> bytes;  ///< The encoded event (core/record/codec.hpp).
  std::uint16_t version = kRecordVersion;  ///< Record version that the bytes are written in.
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

  /// Appends records that continue the journal without a gap, all or none, for the leader of epoch
  /// `writer`. Returns at once where the store commits in the background; `durable()` tells how far
  /// it has come. The first append of an epoch deposes all leaders of lower ones: theirs are
  /// refused from then on, with ErrorCode::Conflict, as are records that do not continue the
  /// journal because another writer has.
  virtual Status append(Epoch writer, std::span<const StoredRecord> records) = 0;

  /// The last record that survives a crash from now on; 0 where none.
  virtual Sequence durable() const = 0;

  /// Makes durable what was appended. Waits until it is; a store that cannot wait returns at once
  /// and tells with `next_durable` when to look again.
  virtual Status sync() = 0;

  /// When `durable()` will have risen; never where nothing is under way, or where the store wakes
  /// the world by itself.
  virtual Instant next_durable() const { return Instant::never(); }

  /// Calls `visit` with the records from `first` on, in order, until it returns false.
  virtual Status read_from(Sequence first,
                           const std::function<bool(const StoredRecord&)>& visit) = 0;

  /// Keeps a snapshot beside the journal; older ones may be dropped.
  virtual Status save_snapshot(const StoredSnapshot& snapshot) = 0;

  /// The newest snapshot, if there is one.
  virtual Result<std::optional<StoredSnapshot>> latest_snapshot() = 0;
};

/// What a store answers to the leader of epoch `writer` once one of epoch `leader` has appended.
/// `file` may be empty.
Error deposed(const std::string& file, Epoch writer, Epoch leader);

}  // namespace orrery
