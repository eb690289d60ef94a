// How a journal lies in its SQLite file: tables, versions, and the row that says where it ends.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/driver/state_store.hpp"
#include "runtime/store/sqlite_database.hpp"

namespace orrery::runtime {

/// Version of the file's own layout; readers accept it and all before.
inline constexpr std::int64_t kStoreVersion = 2;

/// Records from `first` on, up to the next range, are written in this record version.
struct VersionRange {
  Sequence first;
  std::uint16_t version = 0;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("first", self.first);
    v.field("version", self.version);
  }
};

/// What the file says of itself; written with every commit, guarded by a digest.
struct JournalTail {
  Sequence last;                       ///< The last committed record.
  Epoch leader;                        ///< The highest epoch that has appended.
  Sequence pruned;                     ///< Records up to this one are no longer in the file.
  Digest pruned_chain;                 ///< The chain at that record.
  bool archived = false;               ///< They are in the archive; else they were dropped.
  std::vector<VersionRange> versions;  ///< Ascending; of all records, also those pruned.

  /// The record version that record `at` is written in.
  std::uint16_t version_of(Sequence at) const;

  /// The newest record version in the journal; 0 where it is empty.
  std::uint16_t newest_version() const {
    return versions.empty() ? std::uint16_t{0} : versions.back().version;
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("last", self.last);
    v.field("leader", self.leader);
    v.field("pruned", self.pruned);
    v.field("pruned_chain", self.pruned_chain);
    v.field("archived", self.archived);
    v.field("versions", self.versions);
  }
};

/// Makes the tables in an empty file.
Status create_layout(SqliteDatabase& database);

/// The layout's version in a file that is a journal and not newer than this program, by layout and
/// by records.
Result<std::int64_t> check_layout(SqliteDatabase& database);

/// Brings a file of an older layout to the newest, all or nothing.
Status migrate_layout(SqliteDatabase& database, std::int64_t from);

/// The tail, checked against the records that are there: a torn or damaged one is an error.
Result<JournalTail> read_tail(SqliteDatabase& database, std::int64_t layout);

/// Inside the transaction of what it tells of.
Status write_tail(SqliteDatabase& database, const JournalTail& tail);

/// What guards a snapshot in its row: all of it, in layout 1 its bytes alone.
Digest snapshot_digest(const StoredSnapshot& snapshot, std::int64_t layout);

}  // namespace orrery::runtime
