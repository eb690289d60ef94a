#include "runtime/store/sqlite_store.hpp"

#include <sqlite3.h>

#include <filesystem>
#include <utility>

#include "runtime/store/log_check.hpp"

namespace orrery::runtime {
namespace {

std::string name_of(Sequence sequence) { return "record " + std::to_string(sequence.value); }

std::string name_of_snapshot(Sequence sequence) {
  return "snapshot " + std::to_string(sequence.value);
}

Digest chained(const Digest& before, std::span<const std::byte> bytes) {
  Digester digester(before);
  digester.update(bytes);
  return digester.finish();
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& path,
                                                       Access access,
                                                       Pruning pruning,
                                                       Locking locking) {
  std::unique_ptr<SqliteStore> store(new SqliteStore(path, access, pruning));
  if (access == Access::Append && locking == Locking::Exclusive) {
    Result<FileLock> lock = FileLock::take(path);
    if (!lock) return lock.errors();
    store->lock_ = std::move(*lock);
  }
  if (Status prepared = store->prepare(); !prepared) return prepared.errors();
  return store;
}

SqliteStore::~SqliteStore() {
  // A destructor cannot report an error; a caller that must know has called close().
  if (group_open_) static_cast<void>(sync());
  if (!broken_) forget_mark();
}

// Where the log could not be folded into the file, the mark guards it still.
void SqliteStore::forget_mark() {
  insert_ = SqliteStatement();
  version_ = SqliteStatement();
  database_.close();
  std::error_code code;
  if (!std::filesystem::exists(log_of(database_.path()), code) && !code) mark_.remove();
}

// The mark is read before the file, which others may append to meanwhile.
Status SqliteStore::check_log_and_mark() {
  Result<std::optional<Acknowledged>> said = JournalMark::read(database_.path());
  if (!said) return said.errors();
  acknowledged_ = *said;
  if (Status there = check_there(); !there) return there;
  // While a process has the journal open SQLite keeps to what is whole, and the log changes.
  if (!lock_ && FileLock::is_held(database_.path())) return Done{};
  Status sound = check_log(database_.path());
  if (!sound && !lock_ && FileLock::is_held(database_.path())) return Done{};
  return sound;
}

// SQLite would begin an empty file, and remove the log of the one that is missing: the file could
// be put back, but not what was in its log.
Status SqliteStore::check_there() const {
  const std::string& path = database_.path();
  const auto is_empty = [](const std::string& file) {
    std::error_code code;
    const std::uintmax_t size = std::filesystem::file_size(file, code);
    return code || size == 0;
  };
  const bool has_log = !is_empty(log_of(path));
  const bool was_acknowledged = acknowledged_ && acknowledged_->last.value > 0;
  if (access_ == Access::ReadOnly || !is_empty(path) || (!has_log && !was_acknowledged))
    return Done{};
  const std::string mark = JournalMark::path_of(path);
  return database_.error(
      "journal",
      "the file is missing or empty, though " +
          (was_acknowledged ? "records up to " + std::to_string(acknowledged_->last.value) +
                                  " were acknowledged, says " + mark
                            : "its log " + log_of(path) + " is there") +
          "; put it back beside its log, or restore both from a copy; where what is lost is lost, "
          "remove what is left of it (" +
          log_of(path) + ", " + mark + ")");
}

Status SqliteStore::check_against_mark() {
  if (!acknowledged_) return Done{};
  const std::string mark = JournalMark::path_of(database_.path());
  if (acknowledged_->last > last_)
    return database_.error(name_of(last_.next()),
                           "it has gone: records up to " +
                               std::to_string(acknowledged_->last.value) +
                               " were acknowledged, says " + mark +
                               ", the journal ends at record " + std::to_string(last_.value) +
                               "; restore the journal from a copy, its -wal too; where this is "
                               "that copy, or what is lost is lost, remove the mark");
  if (acknowledged_->last < first() || acknowledged_->last <= tail_.pruned) return Done{};
  const Result<Digest> chain = chain_of(acknowledged_->last);
  if (!chain) return chain.errors();
  if (*chain != acknowledged_->chain)
    return database_.error(name_of(acknowledged_->last),
                           "it is not the one that was acknowledged under this number, says " +
                               mark +
                               "; put the journal of the mark back, or remove the mark where this "
                               "journal is to be used in the place of that one");
  return Done{};
}

Status SqliteStore::check_pages() {
  Result<SqliteStatement> check = database_.statement("PRAGMA quick_check(1)");
  if (!check) return check.errors();
  if (check->step() != SQLITE_ROW) return database_.last_error("checking the pages");
  const std::span<const std::byte> said = check->blob(0);
  const std::string text(reinterpret_cast<const char*>(said.data()), said.size());
  if (text == "ok") return Done{};
  return database_.error(
      "journal",
      "its pages do not hold together (" + text + "), so it is damaged; restore it from a copy");
}

Status SqliteStore::check_all() {
  if (Status pages = check_pages(); !pages) return pages;
  const auto kept = snapshots();
  if (!kept) return kept.errors();
  if (tail_.pruned == last_) return Done{};
  return read_file(tail_.pruned.next(), [](const StoredRecord&) { return true; });
}

Status SqliteStore::prepare() {
  if (Status sound = check_log_and_mark(); !sound) return sound;
  if (Status opened = database_.open(access_ == Access::Append); !opened) return opened;
  const Result<std::int64_t> tables = database_.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables.errors();
  if (*tables == 0 && access_ == Access::ReadOnly)
    return database_.error("journal",
                           "the file is empty, a journal was needed; name a recorded one");
  if (*tables == 0)
    if (Status made = create_layout(database_); !made) return made;
  const Result<std::int64_t> layout = check_layout(database_);
  if (!layout) return layout.errors();
  layout_ = *layout;
  if (access_ == Access::Append) {
    if (Status log = database_.execute("PRAGMA journal_mode = WAL"); !log) return log;
    if (Status full = database_.execute("PRAGMA synchronous = FULL"); !full) return full;
    if (Status migrated = migrate_layout(database_, layout_); !migrated) return migrated;
    layout_ = kStoreVersion;
  }
  Result<JournalTail> tail = read_tail(database_, layout_);
  if (!tail) return tail.errors();
  tail_ = std::move(*tail);
  writer_ = tail_.leader;  // The writer stays the same until another epoch begins.
  last_ = durable_ = tail_.last;
  if (Status reaches = check_against_mark(); !reaches) return reaches;
  if (access_ == Access::ReadOnly) {
    Result<SqliteStatement> version = database_.statement("PRAGMA data_version");
    if (!version) return version.errors();
    version_ = std::move(*version);
    return Done{};
  }
  if (lock_) {
    if (Status sound = check_all(); !sound) return sound;
    Result<JournalMark> mark = JournalMark::open(database_.path());
    if (!mark) return mark.errors();
    mark_ = std::move(*mark);
  }
  Result<SqliteStatement> insert =
      database_.statement("INSERT INTO records(sequence, chain, bytes) VALUES(?1, ?2, ?3)");
  if (!insert) return insert.errors();
  insert_ = std::move(*insert);
  return Done{};
}

Sequence SqliteStore::first() const {
  const bool kept = tail_.pruned.value == 0 || tail_.archived;
  return kept ? Sequence{1} : tail_.pruned.next();
}

Status SqliteStore::append(Epoch writer, std::span<const StoredRecord> records) {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  if (writer < tail_.leader) return deposed(database_.path(), writer, tail_.leader);
  Sequence expected = last_;
  for (const StoredRecord& record : records) {
    expected = expected.next();
    if (record.sequence != expected)
      return Error{
          ErrorCode::Conflict,
          database_.path(),
          0,
          name_of(record.sequence),
          "the next record is " + std::to_string(expected.value) + "; append without gaps"};
  }
  if (records.empty()) return Done{};
  writer_ = writer;
  if (Status begun = begin_group(); !begun) return begun;
  tail_.leader = writer;
  for (const StoredRecord& record : records)
    if (Status inserted = insert_record(record); !inserted) return inserted;
  if (last_.value - durable_.value >= kGroupMax) return sync();
  return Done{};
}

Status SqliteStore::begin_group() {
  if (group_open_) return Done{};
  if (Status begun = database_.execute("BEGIN IMMEDIATE"); !begun) return fail(begun.errors()[0]);
  if (Status ours = refuse_if_deposed(); !ours) {
    database_.roll_back();
    return ours;
  }
  group_open_ = true;
  return Done{};
}

// Under the write lock: what others have committed since our last group.
Status SqliteStore::refuse_if_deposed() {
  const Result<JournalTail> now = read_tail(database_, layout_);
  if (!now) return now.errors();
  if (now->leader > writer_) {
    tail_.leader = now->leader;
    return deposed(database_.path(), writer_, now->leader);
  }
  if (now->last != durable_)
    return Error{ErrorCode::Conflict,
                 database_.path(),
                 0,
                 name_of(durable_.next()),
                 "another process has appended it; let only one controller use this journal"};
  return Done{};
}

Status SqliteStore::insert_record(const StoredRecord& record) {
  insert_.bind(1, record.sequence);
  insert_.bind(2, record.chain);
  insert_.bind(3, record.bytes);
  const int code = insert_.step();
  insert_.reset();
  if (code != SQLITE_DONE)
    return fail(database_.last_error("appending " + name_of(record.sequence)));
  if (record.version != tail_.newest_version() || tail_.versions.empty()) {
    if (!tail_.versions.empty() && tail_.versions.back().first == record.sequence)
      tail_.versions.pop_back();
    tail_.versions.push_back({record.sequence, record.version});
  }
  last_ = record.sequence;
  last_chain_ = record.chain;
  return Done{};
}

Status SqliteStore::sync() {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  if (!group_open_) return Done{};
  return commit();
}

Status SqliteStore::commit() {
  tail_.last = last_;
  if (Status told = write_tail(database_, tail_); !told) return fail(told.errors()[0]);
  if (Status committed = database_.execute("COMMIT"); !committed)
    return fail(committed.errors()[0]);
  group_open_ = false;
  if (durable_ != last_) mark_.write({last_, last_chain_});
  durable_ = last_;
  return Done{};
}

Status SqliteStore::read_from(Sequence first,
                              const std::function<bool(const StoredRecord&)>& visit) {
  if (first.value == 0) first = Sequence{1};
  if (access_ == Access::ReadOnly)
    if (Status known = follow_writer(); !known) return known;
  if (first <= tail_.pruned) {
    bool more = true;
    if (Status read = read_archive(first, visit, more); !read || !more) return read;
    first = tail_.pruned.next();
  }
  return first > last_ ? Status(Done{}) : read_file(first, visit);
}

// One that follows a writer asks many times a second, mostly in vain: a statement that is ready
// tells whether anything was committed since, and the tail is read where something was. The writer
// may have pruned then.
Status SqliteStore::follow_writer() {
  version_.reset();
  if (version_.step() != SQLITE_ROW) return database_.last_error("asking for changes");
  const std::int64_t version = version_.integer(0);
  version_.reset();
  if (version == seen_version_) return Done{};
  Result<JournalTail> now = read_tail(database_, layout_);
  if (!now) return now.errors();
  tail_ = std::move(*now);
  last_ = durable_ = tail_.last;
  seen_version_ = version;
  return Done{};
}

/// The records of the archive up to the first that is in this file. `more`: all were wanted.
Status SqliteStore::read_archive(Sequence first,
                                 const std::function<bool(const StoredRecord&)>& visit,
                                 bool& more) {
  const std::string to = std::to_string(tail_.pruned.value);
  if (!tail_.archived)
    return database_.error(name_of(first),
                           "records up to " + to +
                               " were dropped once two snapshots had them; "
                               "begin with a snapshot");
  const std::string path = archive_of(database_.path());
  const auto archive = open(path, Access::ReadOnly);
  if (!archive) {
    Errors errors = archive.errors();
    errors.push_back(database_.error(name_of(first),
                                     "records up to " + to +
                                         " are in the archive, which cannot be read; put " + path +
                                         " back beside the journal, or begin with a snapshot"));
    return errors;
  }
  const Result<Digest> end = (*archive)->chain_of(tail_.pruned);
  if (!end) return end.errors();
  if (*end != tail_.pruned_chain)
    return database_.error(name_of(tail_.pruned),
                           "the archive has another one under this number; put the archive of "
                           "this journal beside it");
  return (*archive)->read_from(first, [&](const StoredRecord& record) {
    if (record.sequence > tail_.pruned) return false;
    more = visit(record);
    return more;
  });
}

Status SqliteStore::read_file(Sequence first,
                              const std::function<bool(const StoredRecord&)>& visit) {
  Sequence expected = first;
  const Result<Digest> before = chain_of(Sequence{expected.value - 1});
  if (!before) return before.errors();
  Digest chain = *before;
  Result<SqliteStatement> row = database_.statement(
      "SELECT sequence, chain, bytes FROM records WHERE sequence >= ?1 ORDER BY sequence");
  if (!row) return row.errors();
  row->bind(1, expected);
  int code = SQLITE_OK;
  while ((code = row->step()) == SQLITE_ROW) {
    const Sequence sequence{static_cast<std::uint64_t>(row->integer(0))};
    if (sequence != expected)
      return database_.error(name_of(expected), "it is missing; restore the journal from a copy");
    const std::span<const std::byte> bytes = row->blob(2);
    chain = chained(chain, bytes);
    if (row->digest(1) != chain)
      return database_.error(
          name_of(sequence),
          "its bytes do not give its digest, so it is damaged; records before it are sound; "
          "restore the journal from a copy");
    if (!visit({sequence, chain, bytes, tail_.version_of(sequence)})) return Done{};
    expected = expected.next();
  }
  if (code != SQLITE_DONE) return database_.last_error("reading " + name_of(expected));
  if (expected <= last_)
    return database_.error(name_of(expected), "it is missing; restore the journal from a copy");
  return Done{};
}

Status SqliteStore::save_snapshot(const StoredSnapshot& snapshot) {
  if (Status broken = refuse_if_broken(); !broken) return broken;
  if (snapshot.sequence > last_)
    return Error{
        ErrorCode::Conflict,
        database_.path(),
        0,
        name_of_snapshot(snapshot.sequence),
        "the journal ends at record " + std::to_string(last_.value) + "; append the records first"};
  if (Status begun = begin_group(); !begun) return begun;
  if (Status inserted = insert_snapshot(snapshot); !inserted) return inserted;
  if (Status committed = commit(); !committed) return committed;
  return pruning_ == Pruning::Keep ? Status(Done{}) : prune();
}

Status SqliteStore::insert_snapshot(const StoredSnapshot& snapshot) {
  Result<SqliteStatement> insert = database_.statement(
      "INSERT OR REPLACE INTO snapshots(sequence, chain, version, digest, bytes)"
      " VALUES(?1, ?2, ?3, ?4, ?5)");
  if (!insert) return fail(insert.errors()[0]);
  insert->bind(1, snapshot.sequence);
  insert->bind(2, snapshot.chain);
  insert->bind(3, std::int64_t{snapshot.version});
  insert->bind(4, snapshot_digest(snapshot, layout_));
  insert->bind(5, std::span<const std::byte>(snapshot.bytes));
  if (insert->step() != SQLITE_DONE) return fail(database_.last_error("saving a snapshot"));
  const Status dropped = database_.execute(
      "DELETE FROM snapshots WHERE sequence NOT IN"
      " (SELECT sequence FROM snapshots ORDER BY sequence DESC LIMIT " +
      std::to_string(kSnapshotsKept) + ")");
  return dropped ? dropped : fail(dropped.errors()[0]);
}

/// Takes the records out that the older of two sound snapshots contains.
Status SqliteStore::prune() {
  const Result<std::vector<StoredSnapshot>> kept = snapshots();
  if (!kept) return kept.errors();
  if (kept->size() < kSnapshotsKept || kept->front().sequence <= tail_.pruned) return Done{};
  const StoredSnapshot& older = kept->front();
  if (pruning_ == Pruning::Archive)
    if (Status moved = move_to_archive(older.sequence); !moved) return moved;
  if (Status begun = begin_group(); !begun) return begun;
  const Status deleted = database_.execute("DELETE FROM records WHERE sequence <= " +
                                           std::to_string(older.sequence.value));
  if (!deleted) return fail(deleted.errors()[0]);
  tail_.archived = pruning_ == Pruning::Archive && (tail_.pruned.value == 0 || tail_.archived);
  tail_.pruned = older.sequence;
  tail_.pruned_chain = older.chain;
  return commit();
}

// The archive is durable before anything is deleted here; what it has already stays as it is, so a
// crash between the two does no harm.
Status SqliteStore::move_to_archive(Sequence last) {
  // Where records before were dropped, an archive could not be read from its first record.
  if (tail_.pruned.value > 0 && !tail_.archived) return Done{};
  // Guarded by the journal's own lock.
  auto archive = open(archive_of(database_.path()), Access::Append, Pruning::Keep, Locking::None);
  if (!archive) return archive.errors();
  SqliteStore& to = **archive;
  Status appended = Done{};
  const Status read = read_file(tail_.pruned.next(), [&](const StoredRecord& record) {
    if (record.sequence > last) return false;
    if (record.sequence > to.last()) appended = to.append(tail_.leader, std::span(&record, 1));
    return appended.has_value();
  });
  if (!read) return read;
  if (!appended) return appended;
  const Result<Digest> ours = chain_of(last);
  const Result<Digest> theirs = to.chain_of(last);
  if (!ours) return ours.errors();
  if (!theirs) return theirs.errors();
  if (*ours != *theirs)
    return to.database_.error(name_of(last),
                              "it is another journal's; move this file away, the archive of the "
                              "journal beside it is begun anew");
  return to.close();
}

Result<std::optional<StoredSnapshot>> SqliteStore::latest_snapshot() {
  Result<SqliteStatement> row = database_.statement(
      "SELECT sequence, chain, version, digest, bytes FROM snapshots"
      " ORDER BY sequence DESC LIMIT 1");
  if (!row) return row.errors();
  const int code = row->step();
  if (code == SQLITE_DONE) return std::optional<StoredSnapshot>{};
  if (code != SQLITE_ROW) return database_.last_error("reading a snapshot");
  Result<StoredSnapshot> snapshot = snapshot_in(*row);
  if (!snapshot) return snapshot.errors();
  return std::optional<StoredSnapshot>(std::move(*snapshot));
}

Result<std::vector<StoredSnapshot>> SqliteStore::snapshots() {
  Result<SqliteStatement> row = database_.statement(
      "SELECT sequence, chain, version, digest, bytes FROM snapshots ORDER BY sequence");
  if (!row) return row.errors();
  std::vector<StoredSnapshot> all;
  int code = SQLITE_OK;
  while ((code = row->step()) == SQLITE_ROW) {
    Result<StoredSnapshot> snapshot = snapshot_in(*row);
    if (!snapshot) return snapshot.errors();
    all.push_back(std::move(*snapshot));
  }
  if (code != SQLITE_DONE) return database_.last_error("reading the snapshots");
  return all;
}

Result<StoredSnapshot> SqliteStore::snapshot_in(const SqliteStatement& row) {
  StoredSnapshot snapshot;
  snapshot.sequence = Sequence{static_cast<std::uint64_t>(row.integer(0))};
  snapshot.version = static_cast<std::uint16_t>(row.integer(2));
  const std::span<const std::byte> bytes = row.blob(4);
  snapshot.bytes.assign(bytes.begin(), bytes.end());
  const std::string subject = name_of_snapshot(snapshot.sequence);
  const std::optional<Digest> chain = row.digest(1);
  snapshot.chain = chain.value_or(Digest{});
  if (!chain || row.digest(3) != snapshot_digest(snapshot, layout_))
    return database_.error(subject,
                           "its bytes do not give its digest, so it is damaged; delete its row "
                           "from the table snapshots: an older one, or the records from the "
                           "first, lead to the same state");
  const Result<Digest> recorded = chain_of(snapshot.sequence);
  if (!recorded) return recorded.errors();
  if (*recorded != snapshot.chain)
    return database_.error(subject,
                           "it does not belong to this journal, whose record of that number has "
                           "another digest; restore the journal from a copy");
  if (snapshot.version > kRecordVersion)
    return database_.error(subject,
                           "it has version " + std::to_string(snapshot.version) +
                               ", this program reads versions up to " +
                               std::to_string(kRecordVersion) + "; use a newer orrery");
  return snapshot;
}

Status SqliteStore::close() {
  if (access_ == Access::ReadOnly) return Done{};
  if (Status synced = sync(); !synced) return synced;
  insert_ = SqliteStatement();
  // One file, without a log beside it: it can be copied, and read where nothing may be written.
  if (Status folded = database_.execute("PRAGMA journal_mode = DELETE"); !folded) return folded;
  mark_.remove();
  return Done{};
}

/// Gives the open group up and refuses to append from now on.
Status SqliteStore::fail(const Error& cause) {
  broken_ = Errors{cause};
  database_.roll_back();
  group_open_ = false;
  last_ = durable_;
  tail_.last = durable_;
  return cause;
}

Status SqliteStore::refuse_if_broken() const {
  if (broken_) return *broken_;
  if (access_ == Access::ReadOnly)
    return database_.error("journal", "it was opened for reading; open it for appending");
  return Done{};
}

/// The chain after a record; that of nothing for 0.
Result<Digest> SqliteStore::chain_of(Sequence sequence) {
  if (sequence.value == 0) return Digest{};
  if (sequence == tail_.pruned) return tail_.pruned_chain;
  Result<SqliteStatement> select =
      database_.statement("SELECT chain FROM records WHERE sequence = ?1");
  if (!select) return select.errors();
  select->bind(1, sequence);
  const int code = select->step();
  if (code == SQLITE_DONE)
    return database_.error(name_of(sequence), "it is missing; restore the journal from a copy");
  if (code != SQLITE_ROW) return database_.last_error("reading " + name_of(sequence));
  const std::optional<Digest> chain = select->digest(0);
  if (!chain)
    return database_.error(name_of(sequence),
                           "its digest is damaged; restore the journal from a copy");
  return *chain;
}

}  // namespace orrery::runtime
