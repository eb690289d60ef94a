#include "runtime/store/sqlite_store.hpp"

#include <sqlite3.h>

#include <array>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/record/codec.hpp"

namespace orrery::runtime {
namespace {

// "Orry" as a number: tells our files from other SQLite files.
constexpr std::int64_t kApplicationId = 0x4f727279;

constexpr std::size_t kDigestBytes = 16;

std::array<std::byte, kDigestBytes> to_bytes(const Digest& digest) {
  std::array<std::byte, kDigestBytes> bytes;
  store_little_endian(bytes.data(), digest.high);
  store_little_endian(bytes.data() + 8, digest.low);
  return bytes;
}

std::span<const std::byte> blob(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(row, column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
}

std::optional<Digest> digest_in(sqlite3_stmt* row, int column) {
  const std::span<const std::byte> bytes = blob(row, column);
  if (bytes.size() != kDigestBytes) return std::nullopt;
  return Digest{load_little_endian<std::uint64_t>(bytes.data()),
                load_little_endian<std::uint64_t>(bytes.data() + 8)};
}

void bind(sqlite3_stmt* to, int place, std::span<const std::byte> bytes) {
  // A null pointer would be bound as NULL, not as no bytes.
  const void* from = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  sqlite3_bind_blob64(to, place, from, bytes.size(), SQLITE_STATIC);
}

void bind(sqlite3_stmt* to, int place, const Digest& digest) {
  const auto bytes = to_bytes(digest);
  sqlite3_bind_blob64(to, place, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

void bind(sqlite3_stmt* to, int place, Sequence sequence) {
  sqlite3_bind_int64(to, place, static_cast<sqlite3_int64>(sequence.value));
}

std::string name_of(Sequence sequence) { return "record " + std::to_string(sequence.value); }

Digest digest_of_bytes(std::span<const std::byte> bytes) {
  Digester digester;
  digester.update(bytes);
  return digester.finish();
}

Digest chained(const Digest& before, std::span<const std::byte> bytes) {
  Digester digester(before);
  digester.update(bytes);
  return digester.finish();
}

// What mends a failed write or read, by SQLite's primary code.
const char* remedy(int code) {
  switch (code) {
    case SQLITE_FULL:
      return "the disk is full; free space, then start again: the journal goes on at its last "
             "durable record";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "the file or its folder is read-only; allow writing, or choose another place";
    case SQLITE_CANTOPEN:
      return "the file cannot be opened; check that the folder exists and permits it";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process writes this journal; let only one controller use it";
    case SQLITE_CONSTRAINT:
      return "another process has appended to this journal; let only one controller use it";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "the file is damaged; restore it from a copy";
    default:
      return "check the disk, then start again";
  }
}

}  // namespace

void SqliteStore::CloseDatabase::operator()(sqlite3* database) const { sqlite3_close(database); }

void SqliteStore::CloseStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path, Access access) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(path, access));
  if (Status prepared = store->prepare(); !prepared) return prepared.errors();
  return store;
}

SqliteStore::~SqliteStore() {
  // A destructor cannot answer; whoever must know has called close().
  if (group_open_) static_cast<void>(sync());
}

Status SqliteStore::prepare() {
  const int flags =
      access_ == Access::Append ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path_.c_str(), &opened, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) return database_error("opening");
  if (Status versions = check_versions(); !versions) return versions;
  if (Status tail = find_tail(); !tail) return tail;
  if (access_ == Access::ReadOnly) return Done{};
  Result<Statement> insert =
      statement("INSERT INTO records(sequence, chain, bytes) VALUES(?1, ?2, ?3)");
  if (!insert) return insert.errors();
  insert_ = std::move(insert).value();
  return Done{};
}

Status SqliteStore::set_up() {
  if (access_ == Access::ReadOnly)
    return error("journal", "the file is empty, a journal was needed; name a recorded one");
  const std::string sql =
      "BEGIN IMMEDIATE;"
      "CREATE TABLE records(sequence INTEGER PRIMARY KEY, chain BLOB NOT NULL,"
      " bytes BLOB NOT NULL);"
      "CREATE TABLE snapshots(sequence INTEGER PRIMARY KEY, chain BLOB NOT NULL,"
      " version INTEGER NOT NULL, digest BLOB NOT NULL, bytes BLOB NOT NULL);"
      "CREATE TABLE tail(one INTEGER PRIMARY KEY CHECK(one = 1), sequence INTEGER NOT NULL,"
      " record_version INTEGER NOT NULL);"
      "INSERT INTO tail VALUES(1, 0, " +
      std::to_string(kRecordVersion) +
      ");"
      "PRAGMA application_id = " +
      std::to_string(kApplicationId) + ";PRAGMA user_version = " + std::to_string(kStoreVersion) +
      ";COMMIT;";
  return execute(sql.c_str());
}

Status SqliteStore::check_versions() {
  const Result<std::int64_t> tables = number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables.errors();
  if (*tables == 0) {
    if (Status made = set_up(); !made) return made;
  }
  const Result<std::int64_t> id = number("PRAGMA application_id");
  const Result<std::int64_t> layout = number("PRAGMA user_version");
  if (!id) return id.errors();
  if (!layout) return layout.errors();
  if (*id != kApplicationId)
    return error("journal", "this is another program's database; name a recorded journal");
  if (*layout > kStoreVersion)
    return error("journal",
                 "its layout has version " + std::to_string(*layout) +
                     ", this program reads versions up to " + std::to_string(kStoreVersion) +
                     "; use a newer orrery");
  const Result<std::int64_t> records = number("SELECT record_version FROM tail");
  if (!records) return records.errors();
  if (*records > kRecordVersion)
    return error("journal",
                 "its records have version " + std::to_string(*records) +
                     ", this program reads versions up to " + std::to_string(kRecordVersion) +
                     "; use a newer orrery");
  if (access_ == Access::ReadOnly) return Done{};
  if (Status log = execute("PRAGMA journal_mode = WAL"); !log) return log;
  if (Status full = execute("PRAGMA synchronous = FULL"); !full) return full;
  if (*records == kRecordVersion) return Done{};
  const std::string raise = "UPDATE tail SET record_version = " + std::to_string(kRecordVersion);
  return execute(raise.c_str());
}

/// Where the journal ends, which must be where the last commit said that it does.
Status SqliteStore::find_tail() {
  const Result<std::int64_t> found = number("SELECT coalesce(max(sequence), 0) FROM records");
  const Result<std::int64_t> committed = number("SELECT sequence FROM tail");
  if (!found) return found.errors();
  if (!committed) return committed.errors();
  if (*found < *committed)
    return error("record " + std::to_string(*found + 1),
                 "the tail is torn: records up to " + std::to_string(*committed) +
                     " were committed, the file ends after record " + std::to_string(*found) +
                     "; restore it from a copy");
  last_ = durable_ = Sequence{static_cast<std::uint64_t>(*found)};
  return Done{};
}

Status SqliteStore::append(std::span<const StoredRecord> records) {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  Sequence expected = last_;
  for (const StoredRecord& record : records) {
    expected = expected.next();
    if (record.sequence != expected)
      return Error{
          ErrorCode::Conflict,
          path_,
          0,
          name_of(record.sequence),
          "the next record is " + std::to_string(expected.value) + "; append without gaps"};
  }
  if (records.empty()) return Done{};
  if (Status begun = begin_group(); !begun) return begun;
  for (const StoredRecord& record : records)
    if (Status inserted = insert_record(record); !inserted) return inserted;
  if (last_.value - durable_.value >= kGroupMax) return sync();
  return Done{};
}

Status SqliteStore::begin_group() {
  if (group_open_) return Done{};
  if (Status begun = execute("BEGIN IMMEDIATE"); !begun) return begun;
  group_open_ = true;
  return Done{};
}

Status SqliteStore::insert_record(const StoredRecord& record) {
  bind(insert_.get(), 1, record.sequence);
  bind(insert_.get(), 2, record.chain);
  bind(insert_.get(), 3, record.bytes);
  const int code = sqlite3_step(insert_.get());
  sqlite3_reset(insert_.get());
  if (code != SQLITE_DONE) return fail("appending " + name_of(record.sequence));
  last_ = record.sequence;
  return Done{};
}

Status SqliteStore::sync() {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  if (!group_open_) return Done{};
  const std::string tail = "UPDATE tail SET sequence = " + std::to_string(last_.value);
  if (Status told = execute(tail.c_str()); !told) return told;
  if (Status committed = execute("COMMIT"); !committed) return committed;
  group_open_ = false;
  durable_ = last_;
  return Done{};
}

Status SqliteStore::read_from(Sequence first,
                              const std::function<bool(const StoredRecord&)>& visit) {
  Sequence expected{first.value == 0 ? 1 : first.value};
  if (expected > last_) return Done{};
  const Result<Digest> before = chain_of(Sequence{expected.value - 1});
  if (!before) return before.errors();
  Digest chain = *before;
  Result<Statement> select = statement(
      "SELECT sequence, chain, bytes FROM records WHERE sequence >= ?1 ORDER BY sequence");
  if (!select) return select.errors();
  sqlite3_stmt* row = select->get();
  bind(row, 1, expected);
  int code = SQLITE_OK;
  while ((code = sqlite3_step(row)) == SQLITE_ROW) {
    const Sequence sequence{static_cast<std::uint64_t>(sqlite3_column_int64(row, 0))};
    if (sequence != expected)
      return error(name_of(expected), "it is missing; restore the journal from a copy");
    const std::span<const std::byte> bytes = blob(row, 2);
    const std::optional<Digest> stored = digest_in(row, 1);
    chain = chained(chain, bytes);
    if (stored != chain)
      return error(name_of(sequence),
                   "its bytes do not give its digest, so it is damaged; records before it are "
                   "sound; restore the journal from a copy");
    if (!visit({sequence, chain, bytes})) return Done{};
    expected = expected.next();
  }
  if (code != SQLITE_DONE) return database_error("reading " + name_of(expected));
  if (expected <= last_)
    return error(name_of(expected), "it is missing; restore the journal from a copy");
  return Done{};
}

Status SqliteStore::save_snapshot(const StoredSnapshot& snapshot) {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  if (snapshot.sequence > last_)
    return Error{
        ErrorCode::Conflict,
        path_,
        0,
        "snapshot " + std::to_string(snapshot.sequence.value),
        "the journal ends at record " + std::to_string(last_.value) + "; append the records first"};
  if (Status begun = begin_group(); !begun) return begun;
  Result<Statement> insert = statement(
      "INSERT OR REPLACE INTO snapshots(sequence, chain, version, digest, bytes)"
      " VALUES(?1, ?2, ?3, ?4, ?5)");
  if (!insert) return insert.errors();
  bind(insert->get(), 1, snapshot.sequence);
  bind(insert->get(), 2, snapshot.chain);
  sqlite3_bind_int64(insert->get(), 3, snapshot.version);
  bind(insert->get(), 4, digest_of_bytes(snapshot.bytes));
  bind(insert->get(), 5, std::span<const std::byte>(snapshot.bytes));
  if (sqlite3_step(insert->get()) != SQLITE_DONE) return fail("saving a snapshot");
  const std::string drop =
      "DELETE FROM snapshots WHERE sequence NOT IN"
      " (SELECT sequence FROM snapshots ORDER BY sequence DESC LIMIT " +
      std::to_string(kSnapshotsKept) + ")";
  if (Status dropped = execute(drop.c_str()); !dropped) return dropped;
  return sync();
}

Result<std::optional<StoredSnapshot>> SqliteStore::latest_snapshot() {
  Result<Statement> select = statement(
      "SELECT sequence, chain, version, digest, bytes FROM snapshots"
      " ORDER BY sequence DESC LIMIT 1");
  if (!select) return select.errors();
  sqlite3_stmt* row = select->get();
  const int code = sqlite3_step(row);
  if (code == SQLITE_DONE) return std::optional<StoredSnapshot>{};
  if (code != SQLITE_ROW) return database_error("reading a snapshot");
  StoredSnapshot snapshot;
  snapshot.sequence = Sequence{static_cast<std::uint64_t>(sqlite3_column_int64(row, 0))};
  snapshot.version = static_cast<std::uint16_t>(sqlite3_column_int64(row, 2));
  const std::span<const std::byte> bytes = blob(row, 4);
  snapshot.bytes.assign(bytes.begin(), bytes.end());
  const std::string subject = "snapshot " + std::to_string(snapshot.sequence.value);
  const std::optional<Digest> chain = digest_in(row, 1);
  if (!chain || digest_in(row, 3) != digest_of_bytes(bytes))
    return error(subject,
                 "its bytes do not give its digest, so it is damaged; replay the journal from its "
                 "first record");
  snapshot.chain = *chain;
  if (snapshot.version > kRecordVersion)
    return error(subject,
                 "it has version " + std::to_string(snapshot.version) +
                     ", this program reads versions up to " + std::to_string(kRecordVersion) +
                     "; use a newer orrery");
  return std::optional<StoredSnapshot>(std::move(snapshot));
}

Status SqliteStore::close() {
  if (access_ == Access::ReadOnly) return Done{};
  if (Status synced = sync(); !synced) return synced;
  insert_.reset();
  // One file, without a log beside it: it can be copied, and read where nothing may be written.
  return execute("PRAGMA journal_mode = DELETE");
}

/// Gives the open group up and refuses to append from now on.
Status SqliteStore::fail(const std::string& doing) {
  const Error cause = database_error(doing);
  broken_ = Errors{cause};
  if (group_open_) sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  group_open_ = false;
  last_ = durable_;
  return cause;
}

Status SqliteStore::refuse_if_broken() const {
  if (broken_) return *broken_;
  if (access_ == Access::ReadOnly)
    return error("journal", "it was opened for reading; open it for appending");
  return Done{};
}

Status SqliteStore::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return fail("writing");
  return Done{};
}

Result<SqliteStore::Statement> SqliteStore::statement(const char* sql) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql, -1, &made, nullptr) != SQLITE_OK)
    return database_error("reading");
  return Statement(made);
}

/// The chain after a record; that of nothing for 0.
Result<Digest> SqliteStore::chain_of(Sequence sequence) {
  if (sequence.value == 0) return Digest{};
  Result<Statement> select = statement("SELECT chain FROM records WHERE sequence = ?1");
  if (!select) return select.errors();
  bind(select->get(), 1, sequence);
  const int code = sqlite3_step(select->get());
  if (code == SQLITE_DONE)
    return error(name_of(sequence), "it is missing; restore the journal from a copy");
  if (code != SQLITE_ROW) return database_error("reading " + name_of(sequence));
  const std::optional<Digest> chain = digest_in(select->get(), 0);
  if (!chain)
    return error(name_of(sequence), "its digest is damaged; restore the journal from a copy");
  return *chain;
}

Result<std::int64_t> SqliteStore::number(const char* sql) {
  Result<Statement> select = statement(sql);
  if (!select) return select.errors();
  if (sqlite3_step(select->get()) != SQLITE_ROW) return database_error("reading");
  return static_cast<std::int64_t>(sqlite3_column_int64(select->get(), 0));
}

Error SqliteStore::error(std::string subject, std::string message) const {
  return {ErrorCode::InvalidInput, path_, 0, std::move(subject), std::move(message)};
}

Error SqliteStore::database_error(const std::string& doing) const {
  const int code = sqlite3_errcode(database_.get());
  return {ErrorCode::Unavailable,
          path_,
          0,
          "journal",
          doing + " failed: " + sqlite3_errmsg(database_.get()) + "; " + remedy(code & 0xff)};
}

}  // namespace orrery::runtime
