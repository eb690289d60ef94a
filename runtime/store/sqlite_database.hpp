// SQLite with the errors and types of the project: one connection and its statements.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace orrery::runtime {

/// One prepared statement: bind from 1, step, read columns from 0.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  explicit SqliteStatement(sqlite3_stmt* made) : made_(made) {}

  void bind(int place, std::int64_t value);

  void bind(int place, Sequence value) { bind(place, static_cast<std::int64_t>(value.value)); }

  /// The bytes must stay until the statement is reset or stepped to its end.
  void bind(int place, std::span<const std::byte> bytes);
  void bind(int place, const Digest& digest);

  /// SQLite's code: SQLITE_ROW, SQLITE_DONE or an error.
  int step();
  void reset();

  std::int64_t integer(int column) const;

  /// Valid until the next step.
  std::span<const std::byte> blob(int column) const;

  /// None where the column does not hold 16 bytes.
  std::optional<Digest> digest(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  std::unique_ptr<sqlite3_stmt, Finalize> made_;
};

/// One connection to a file. Errors name the file, what was being done, and the remedy.
class SqliteDatabase {
 public:
  explicit SqliteDatabase(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  /// Opens the file; makes it where it is missing and `write` is true. A writer makes it readable
  /// by its owner alone: it holds the environments of jobs. SQLite gives its log the same rights.
  Status open(bool write);

  /// Ends the connection; all statements must have gone. Where it was the last one, the log is
  /// folded into the file.
  void close() { database_.reset(); }

  Status execute(const std::string& sql);
  Result<SqliteStatement> statement(std::string_view sql);

  /// The one number that a query gives.
  Result<std::int64_t> number(std::string_view sql);

  /// Ends an open transaction without its effects; nothing where there is none.
  void roll_back();

  /// Bad content of the file.
  Error error(std::string subject, std::string message) const;

  /// What SQLite said last.
  Error last_error(const std::string& doing) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace orrery::runtime
