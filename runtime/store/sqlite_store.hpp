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

struct sqlite3;
struct sqlite3_stmt;

namespace orrery::runtime {

/// Version of the file's own layout; readers accept it and all before.
inline constexpr std::int64_t kStoreVersion = 1;

/// A StateStore in a SQLite file (write-ahead log, synchronous FULL) with group commit: `append`
/// collects records in one transaction, which `sync`, a snapshot, `close` or `kGroupMax` records
/// commit. So a crash loses at most what no order has been released for.
///
/// Every record is checked against its chained digest when it is read. A damaged byte, a missing
/// record and a tail that is shorter than what was committed are errors that name the first record
/// concerned. After a failed write the store refuses everything but reading.
///
/// Not shared between threads. One process may append at a time; others may read meanwhile.
class SqliteStore final : public StateStore {
 public:
  enum class Access : std::uint8_t { ReadOnly, Append };

  /// Records that are committed together at most.
  static constexpr std::uint64_t kGroupMax = 1000;

  /// Snapshots that are kept.
  static constexpr int kSnapshotsKept = 2;

  /// Opens `path`, and makes it where it is missing and `access` is Append. Refuses files that are
  /// no journal, of a newer layout, with records of a newer version, or with a torn tail.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& path, Access access);

  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  /// Commits what is open; what fails then is as after a crash. Call `close` to learn of it.
  ~SqliteStore() override;

  Status append(std::span<const StoredRecord> records) override;

  Sequence durable() const override { return durable_; }

  Status sync() override;

  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override;

  Status save_snapshot(const StoredSnapshot& snapshot) override;

  Result<std::optional<StoredSnapshot>> latest_snapshot() override;

  /// Commits and folds the log into the one file. Nothing but destruction may follow.
  Status close();

  /// The last record appended; 0 where none.
  Sequence last() const { return last_; }

  /// The chain after the last record: where a driver goes on.
  Result<Digest> last_chain() { return chain_of(last_); }

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };

  struct CloseStatement {
    void operator()(sqlite3_stmt* statement) const;
  };

  using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

  SqliteStore(std::string path, Access access) : path_(std::move(path)), access_(access) {}

  Status prepare();
  Status set_up();
  Status check_versions();
  Status find_tail();
  Status begin_group();
  Status insert_record(const StoredRecord& record);
  Status fail(const std::string& doing);
  Status refuse_if_broken() const;
  Status execute(const char* sql);
  Result<Statement> statement(const char* sql);
  Result<Digest> chain_of(Sequence sequence);
  Result<std::int64_t> number(const char* sql);
  Error error(std::string subject, std::string message) const;
  Error database_error(const std::string& doing) const;

  std::string path_;
  Access access_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  Statement insert_;
  Sequence last_;
  Sequence durable_;
  bool group_open_ = false;
  std::optional<Errors> broken_;  ///< The failed write that ended appending.
};

}  // namespace orrery::runtime
