#include "runtime/store/journal_layout.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <string>

#include "core/base/bytes.hpp"
#include "core/record/codec.hpp"

namespace orrery::runtime {
namespace {

// "Orry" as a number: tells our files from other SQLite files.
constexpr std::int64_t kApplicationId = 0x4f727279;

constexpr std::string_view kTailTable =
    "CREATE TABLE tail(one INTEGER PRIMARY KEY CHECK(one = 1), sequence INTEGER NOT NULL,"
    " record_version INTEGER NOT NULL, bytes BLOB NOT NULL, digest BLOB NOT NULL);";

Digest digest_of(std::span<const std::byte> bytes) {
  Digester digester;
  digester.update(bytes);
  return digester.finish();
}

Error newer(const SqliteDatabase& database,
            const std::string& what,
            std::int64_t found,
            std::int64_t known) {
  return database.error("journal",
                        what + " version " + std::to_string(found) +
                            ", this program reads versions up to " + std::to_string(known) +
                            "; use a newer orrery");
}

Status insert_tail(SqliteDatabase& database, const JournalTail& tail) {
  ByteWriter bytes;
  Encoder(bytes).put(tail);
  Result<SqliteStatement> insert = database.statement(
      "INSERT OR REPLACE INTO tail(one, sequence, record_version, bytes, digest)"
      " VALUES(1, ?1, ?2, ?3, ?4)");
  if (!insert) return insert.errors();
  insert->bind(1, tail.last);
  insert->bind(2, std::int64_t{tail.newest_version()});
  insert->bind(3, bytes.bytes());
  insert->bind(4, digest_of(bytes.bytes()));
  if (insert->step() != SQLITE_DONE) return database.last_error("writing");
  return Done{};
}

/// The digest of each snapshot as the newest layout has it; sound snapshots only.
Status guard_snapshots(SqliteDatabase& database) {
  Result<SqliteStatement> select =
      database.statement("SELECT sequence, chain, version, digest, bytes FROM snapshots");
  Result<SqliteStatement> update =
      database.statement("UPDATE snapshots SET digest = ?2 WHERE sequence = ?1");
  if (!select) return select.errors();
  if (!update) return update.errors();
  int code = SQLITE_OK;
  while ((code = select->step()) == SQLITE_ROW) {
    StoredSnapshot snapshot;
    snapshot.sequence = Sequence{static_cast<std::uint64_t>(select->integer(0))};
    snapshot.chain = select->digest(1).value_or(Digest{});
    snapshot.version = static_cast<std::uint16_t>(select->integer(2));
    const std::span<const std::byte> bytes = select->blob(4);
    snapshot.bytes.assign(bytes.begin(), bytes.end());
    // One that was damaged before stays so.
    if (select->digest(3) != snapshot_digest(snapshot, 1)) continue;
    update->bind(1, snapshot.sequence);
    update->bind(2, snapshot_digest(snapshot, kStoreVersion));
    if (update->step() != SQLITE_DONE) return database.last_error("writing");
    update->reset();
  }
  if (code != SQLITE_DONE) return database.last_error("reading");
  return Done{};
}

}  // namespace

std::uint16_t JournalTail::version_of(Sequence at) const {
  const auto after = std::upper_bound(
      versions.begin(), versions.end(), at, [](Sequence s, const VersionRange& range) {
        return s < range.first;
      });
  return after == versions.begin() ? std::uint16_t{0} : std::prev(after)->version;
}

Status create_layout(SqliteDatabase& database) {
  if (Status begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun;
  const std::string tables =
      "CREATE TABLE records(sequence INTEGER PRIMARY KEY, chain BLOB NOT NULL,"
      " bytes BLOB NOT NULL);"
      "CREATE TABLE snapshots(sequence INTEGER PRIMARY KEY, chain BLOB NOT NULL,"
      " version INTEGER NOT NULL, digest BLOB NOT NULL, bytes BLOB NOT NULL);" +
      std::string(kTailTable) + "PRAGMA application_id = " + std::to_string(kApplicationId) +
      ";PRAGMA user_version = " + std::to_string(kStoreVersion) + ";";
  Status made = database.execute(tables);
  if (made) made = insert_tail(database, {});
  if (made) made = database.execute("COMMIT");
  if (!made) database.roll_back();
  return made;
}

Result<std::int64_t> check_layout(SqliteDatabase& database) {
  const Result<std::int64_t> id = database.number("PRAGMA application_id");
  const Result<std::int64_t> layout = database.number("PRAGMA user_version");
  if (!id) return id.errors();
  if (!layout) return layout.errors();
  if (*id != kApplicationId)
    return database.error("journal", "this is another program's database; name a recorded journal");
  if (*layout > kStoreVersion) return newer(database, "its layout has", *layout, kStoreVersion);
  if (*layout < 1)
    return database.error("journal", "its layout has no version; restore the file from a copy");
  const Result<std::int64_t> records = database.number("SELECT record_version FROM tail");
  if (!records) return records.errors();
  if (*records > kRecordVersion)
    return newer(database, "its records have", *records, kRecordVersion);
  return *layout;
}

Status migrate_layout(SqliteDatabase& database, std::int64_t from) {
  if (from == kStoreVersion) return Done{};
  Result<JournalTail> tail = read_tail(database, from);
  if (!tail) return tail.errors();
  if (Status begun = database.execute("BEGIN IMMEDIATE"); !begun) return begun;
  Status done = database.execute("DROP TABLE tail;" + std::string(kTailTable));
  if (done) done = insert_tail(database, *tail);
  if (done) done = guard_snapshots(database);
  if (done) done = database.execute("PRAGMA user_version = " + std::to_string(kStoreVersion));
  if (done) done = database.execute("COMMIT");
  if (!done) database.roll_back();
  return done;
}

Result<JournalTail> read_tail(SqliteDatabase& database, std::int64_t layout) {
  // One statement sees one state of the file, also while another process appends.
  Result<SqliteStatement> select =
      database.statement(std::string("SELECT sequence, record_version,"
                                     " (SELECT coalesce(max(sequence), 0) FROM records)") +
                         (layout == 1 ? "" : ", bytes, digest") + " FROM tail");
  if (!select) return select.errors();
  if (select->step() != SQLITE_ROW) return database.last_error("reading the tail");
  const Sequence committed{static_cast<std::uint64_t>(select->integer(0))};
  Sequence found{static_cast<std::uint64_t>(select->integer(2))};
  JournalTail tail;
  if (layout == 1) {
    tail.last = committed;
    tail.leader = Epoch{0};
    tail.versions.push_back({Sequence{1}, static_cast<std::uint16_t>(select->integer(1))});
  } else {
    const std::span<const std::byte> bytes = select->blob(3);
    ByteReader in(bytes);
    Decoder decoder(in);
    decoder.get(tail);
    if (select->digest(4) != digest_of(bytes) || !decoder.ok() || !in.finished() ||
        tail.last != committed || tail.pruned > tail.last)
      return database.error("tail",
                            "its bytes do not give its digest, so it is damaged; restore the "
                            "journal from a copy");
    found = std::max(found, tail.pruned);
  }
  if (found < tail.last)
    return database.error("record " + std::to_string(found.value + 1),
                          "the tail is torn: records up to " + std::to_string(tail.last.value) +
                              " were committed, the file ends after record " +
                              std::to_string(found.value) + "; restore it from a copy");
  if (found > tail.last)
    return database.error("record " + std::to_string(tail.last.value + 1),
                          "it was never committed: the journal ends at record " +
                              std::to_string(tail.last.value) + ", the file at record " +
                              std::to_string(found.value) + "; restore it from a copy");
  return tail;
}

Status write_tail(SqliteDatabase& database, const JournalTail& tail) {
  return insert_tail(database, tail);
}

Digest snapshot_digest(const StoredSnapshot& snapshot, std::int64_t layout) {
  Digester digester;
  if (layout > 1) {
    ByteWriter head;
    head.u64(snapshot.sequence.value);
    head.u64(snapshot.chain.high);
    head.u64(snapshot.chain.low);
    head.u16(snapshot.version);
    digester.update(head.bytes());
  }
  digester.update(std::span<const std::byte>(snapshot.bytes));
  return digester.finish();
}

}  // namespace orrery::runtime
