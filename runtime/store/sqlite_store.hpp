// The durable journal: one SQLite file, readable on any host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/driver/state_store.hpp"
#include "runtime/store/file_lock.hpp"
#include "runtime/store/journal_layout.hpp"
#include "runtime/store/journal_mark.hpp"
#include "runtime/store/sqlite_database.hpp"

namespace orrery::runtime {

/// What becomes of records that two snapshots have made needless: those that the older of the two
/// contains. Space in the file that they leave is used again.
enum class Pruning : std::uint8_t {
  Keep,
  Archive,  ///< Moved to the file NAME.archive, a journal itself; it is read along where needed.
  Drop,     ///< Forgotten.
};

/// Whether a store that appends keeps others from doing so while it is open. Without the lock,
/// which process may append is decided by epochs alone: a second writer deposes the first, or is
/// refused.
enum class Locking : std::uint8_t { Exclusive, None };

/// A StateStore in a SQLite file (write-ahead log, synchronous FULL) with group commit: `append`
/// collects records in one transaction, which `sync`, a snapshot, `close` or `kGroupMax` records
/// commit. So a crash loses at most what no order has been released for.
///
/// Every record is checked against its chained digest when it is read. A damaged byte, a missing
/// record and a tail that is shorter than what was committed are errors that name the first record
/// concerned. After a failed write the store refuses everything but reading.
///
/// Nothing that was acknowledged goes without a word. SQLite drops what follows a damaged frame of
/// its log, so the log is looked at first; and PATH.mark, written after each commit, says how far
/// the journal went when its process was killed. The only writer checks the whole file, its
/// records and its snapshots when it opens it, and refuses what is damaged anywhere.
///
/// Not shared between threads. One store may append at a time, guarded by a lock on PATH.lock that
/// ends with its process; others may read meanwhile. Without the lock, a process whose leader was
/// deposed, or behind whose back another one has appended, is refused with ErrorCode::Conflict.
class SqliteStore final : public StateStore {
 public:
  enum class Access : std::uint8_t { ReadOnly, Append };

  /// Records that are committed together at most.
  static constexpr std::uint64_t kGroupMax = 1000;

  /// Snapshots that are kept.
  static constexpr int kSnapshotsKept = 2;

  /// Opens `path`, and makes it where it is missing and `access` is Append. Refuses files that are
  /// no journal, of a newer layout, with records of a newer version, with a torn tail, with less in
  /// them than was acknowledged, or open for appending already (Conflict; none of the others:
  /// InvalidInput or Unavailable). A file of an older layout is brought to the newest where
  /// `access` is Append. With Append and Exclusive the whole file is checked, in time linear in its
  /// size.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& path,
                                                   Access access,
                                                   Pruning pruning = Pruning::Keep,
                                                   Locking locking = Locking::Exclusive);

  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  /// Commits what is open; what fails then is as after a crash. Call `close` to learn of it.
  ~SqliteStore() override;

  Status append(Epoch writer, std::span<const StoredRecord> records) override;

  Sequence durable() const override { return durable_; }

  Status sync() override;

  /// Reads the archive too where `first` is in it. Dropped records are an error that says where
  /// reading can begin.
  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override;

  Status save_snapshot(const StoredSnapshot& snapshot) override;

  Result<std::optional<StoredSnapshot>> latest_snapshot() override;

  /// All snapshots that are kept, oldest first, each checked as the latest one is.
  Result<std::vector<StoredSnapshot>> snapshots();

  /// Whether the pages of the file hold together, records and snapshots aside: in time linear in
  /// its size. What is read is checked anyway; this finds damage in what is never read.
  Status check_pages();

  /// Commits and folds the log into the one file. Nothing but destruction may follow.
  Status close();

  /// The last record appended; 0 where none.
  Sequence last() const { return last_; }

  /// The first record that can be read, in the archive or here; last() + 1 where there is none.
  Sequence first() const;

  /// Records up to this one are in the archive or dropped; 0 where all are here.
  Sequence pruned() const { return tail_.pruned; }

  /// The record version that the journal began with, and the newest in it.
  std::uint16_t oldest_version() const { return tail_.version_of(Sequence{1}); }

  std::uint16_t newest_version() const { return tail_.newest_version(); }

  /// The chain after the last record: where a driver goes on.
  Result<Digest> last_chain() { return chain_of(last_); }

  /// Where the archive of a journal lies.
  static std::string archive_of(const std::string& path) { return path + ".archive"; }

 private:
  SqliteStore(std::string path, Access access, Pruning pruning)
      : database_(std::move(path)), access_(access), pruning_(pruning) {}

  Status prepare();
  Status check_log_and_mark();
  Status check_there() const;
  Status check_against_mark();
  Status check_all();
  void forget_mark();
  Status begin_group();
  Status refuse_if_deposed();
  Status insert_record(const StoredRecord& record);
  Status follow_writer();
  Status commit();
  Status fail(const Error& cause);
  Status refuse_if_broken() const;
  Status insert_snapshot(const StoredSnapshot& snapshot);
  Status prune();
  Status move_to_archive(Sequence last);
  Status read_archive(Sequence first,
                      const std::function<bool(const StoredRecord&)>& visit,
                      bool& more);
  Status read_file(Sequence first, const std::function<bool(const StoredRecord&)>& visit);
  Result<StoredSnapshot> snapshot_in(const SqliteStatement& row);
  Result<Digest> chain_of(Sequence sequence);

  std::optional<FileLock> lock_;  ///< Given back after the file is closed.
  SqliteDatabase database_;
  Access access_;
  Pruning pruning_;
  std::int64_t layout_ = kStoreVersion;
  SqliteStatement insert_;
  SqliteStatement version_;                   ///< Of a reader: changes with what others commit,
  std::optional<std::int64_t> seen_version_;  ///< and what it was when the tail was read last.
  JournalTail tail_;                          ///< Of the open group, where there is one.
  Epoch writer_;                              ///< Of the last append.
  Sequence last_;
  Sequence durable_;
  Digest last_chain_;                         ///< Of the last record appended here.
  JournalMark mark_;                          ///< Open where this store alone appends.
  std::optional<Acknowledged> acknowledged_;  ///< What the mark said when the file was opened.
  bool group_open_ = false;
  std::optional<Errors> broken_;  ///< The failed write that ended appending.
};

}  // namespace orrery::runtime
