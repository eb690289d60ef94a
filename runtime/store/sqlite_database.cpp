#include "runtime/store/sqlite_database.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "core/base/bytes.hpp"

namespace orrery::runtime {
namespace {

constexpr std::size_t kDigestBytes = 16;

// What mends a failed write or read, by SQLite's primary code.
const char* remedy(int code) {
  switch (code) {
    case SQLITE_FULL:
      return "the disk is full; free space: a controller then goes on by itself, at the last "
             "durable "
             "record of the journal";
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
    case SQLITE_NOTADB:
      return "it is no journal; name one, or, where it was one, the file is damaged: restore it "
             "from a copy";
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // A table or column of ours that is not there.
      return "the file is damaged; restore it from a copy";
    default:
      return "check the disk, then start again";
  }
}

/// Makes the file readable by its owner alone, where it is there; makes it so where `make`. What
/// cannot be done here is told where SQLite opens it.
void keep_to_owner(const std::string& path, bool make) {
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  const int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | (make ? O_CREAT : 0);
  const int descriptor = ::open(path.c_str(), flags, S_IRUSR | S_IWUSR);
  if (descriptor < 0) return;

  struct stat found {};

  if (fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && (found.st_mode & kOthers) != 0)
    static_cast<void>(fchmod(descriptor, found.st_mode & S_IRWXU));
  ::close(descriptor);
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteStatement::bind(int place, std::int64_t value) {
  sqlite3_bind_int64(made_.get(), place, value);
}

void SqliteStatement::bind(int place, std::span<const std::byte> bytes) {
  // A null pointer would be bound as NULL, not as no bytes.
  const void* from = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  sqlite3_bind_blob64(made_.get(), place, from, bytes.size(), SQLITE_STATIC);
}

void SqliteStatement::bind(int place, const Digest& digest) {
  std::array<std::byte, kDigestBytes> bytes;
  store_little_endian(bytes.data(), digest.high);
  store_little_endian(bytes.data() + 8, digest.low);
  sqlite3_bind_blob64(made_.get(), place, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

int SqliteStatement::step() { return sqlite3_step(made_.get()); }

void SqliteStatement::reset() { sqlite3_reset(made_.get()); }

std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(made_.get(), column);
}

std::span<const std::byte> SqliteStatement::blob(int column) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(made_.get(), column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(made_.get(), column))};
}

std::optional<Digest> SqliteStatement::digest(int column) const {
  const std::span<const std::byte> bytes = blob(column);
  if (bytes.size() != kDigestBytes) return std::nullopt;
  return Digest{load_little_endian<std::uint64_t>(bytes.data()),
                load_little_endian<std::uint64_t>(bytes.data() + 8)};
}

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Status SqliteDatabase::open(bool write) {
  std::error_code code;
  if (std::filesystem::is_directory(path_, code))
    return Error{ErrorCode::InvalidInput,
                 path_,
                 0,
                 "journal",
                 "is a folder, the file of a journal is needed; name the one in it, " +
                     (std::filesystem::path(path_) / "journal.db").string()};
  if (write) {
    keep_to_owner(path_, true);
    for (const char* beside : {"-wal", "-shm"}) keep_to_owner(path_ + beside, false);
  }
  const int flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* opened = nullptr;
  const int done = sqlite3_open_v2(path_.c_str(), &opened, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  database_.reset(opened);
  if (done != SQLITE_OK) return last_error("opening");
  return Done{};
}

Status SqliteDatabase::execute(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return last_error("writing");
  return Done{};
}

Result<SqliteStatement> SqliteDatabase::statement(std::string_view sql) {
  sqlite3_stmt* made = nullptr;
  const int length = static_cast<int>(sql.size());
  if (sqlite3_prepare_v2(database_.get(), sql.data(), length, &made, nullptr) != SQLITE_OK)
    return last_error("reading");
  return SqliteStatement(made);
}

Result<std::int64_t> SqliteDatabase::number(std::string_view sql) {
  Result<SqliteStatement> select = statement(sql);
  if (!select) return select.errors();
  if (select->step() != SQLITE_ROW) return last_error("reading");
  return select->integer(0);
}

void SqliteDatabase::roll_back() {
  if (sqlite3_get_autocommit(database_.get()) == 0)
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Error SqliteDatabase::error(std::string subject, std::string message) const {
  return {ErrorCode::InvalidInput, path_, 0, std::move(subject), std::move(message)};
}

Error SqliteDatabase::last_error(const std::string& doing) const {
  const int code = sqlite3_errcode(database_.get());
  return {ErrorCode::Unavailable,
          path_,
          0,
          "journal",
          doing + " failed: " + sqlite3_errmsg(database_.get()) + "; " + remedy(code & 0xff)};
}

}  // namespace orrery::runtime
