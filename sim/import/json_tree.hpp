// JSON text as a tree that knows the line of every value, and a reader of its objects that keeps
// every error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::sim {

enum class JsonKind : std::uint8_t { Null, Bool, Number, Text, Array, Object };

/// One value. Only the fields of its kind say something.
struct JsonNode {
  JsonKind kind = JsonKind::Null;
  int line = 0;                   ///< Where it begins, from 1.
  bool truth = false;             ///< Bool.
  double number = 0;              ///< Number; finite.
  std::string text;               ///< Text; Number: as written.
  std::vector<JsonNode> items;    ///< Array: its items. Object: its values,
  std::vector<std::string> keys;  ///< and their names, one for each.

  bool is(JsonKind wanted) const { return kind == wanted; }

  /// The value of a key of an object; the last one where it stands twice. Null: there is none.
  const JsonNode* find(std::string_view key) const;
};

/// "a number", "an object", ...
std::string_view describe(JsonKind kind);

/// Deepest nesting of a document.
inline constexpr std::size_t kJsonDepthMax = 64;

/// Reads one document. Errors: the first thing that is no JSON, a number beyond the range of
/// doubles, nesting deeper than kJsonDepthMax; with the line, counted from `first_line`.
Result<JsonNode> parse_json(std::string_view text, const std::string& file, int first_line = 1);

/// Collects what is wrong with one file: the first 20 things, and how many more there are.
class FileErrors {
 public:
  explicit FileErrors(std::string file) : file_(std::move(file)) {}

  /// `message`: what was found, what was needed; how to mend it. `line` 0: not known.
  void add(int line, std::string subject, std::string message);

  bool any() const { return !errors_.empty(); }

  const std::string& file() const { return file_; }

  Errors take();

 private:
  static constexpr std::size_t kErrorsMax = 20;

  std::string file_;
  Errors errors_;
  std::uint64_t left_out_ = 0;
};

/// Reads the fields of one object. What is absent or wrong leaves the target as it is; what is
/// wrong is reported.
class JsonReader {
 public:
  /// All outlive the reader. `subject` begins every message. A node that is no object is reported
  /// and read as an empty one.
  JsonReader(const JsonNode& node, std::string subject, FileErrors& errors);

  /// Absent and null are the same.
  const JsonNode* find(std::string_view key) const;

  bool has(std::string_view key) const { return find(key) != nullptr; }

  const std::string& subject() const { return subject_; }

  int line() const { return node_.line; }

  FileErrors& errors() const { return errors_; }

  void fail(std::string_view key, std::string message) const;

  /// Reports that `key` is missing; `example` is what to write.
  void missing(std::string_view key, std::string_view example) const;

  /// A number from `low` to `high`; whether it was there and right.
  bool number(std::string_view key, double& to, double low, double high) const;

  /// A whole number from `low` to `high`, within the 53 bits that a double has.
  bool integer(std::string_view key, std::int64_t& to, std::int64_t low, std::int64_t high) const;

  bool text(std::string_view key, std::string& to) const;

  bool truth(std::string_view key, bool& to) const;

  /// The items of an array; empty where absent or wrong.
  const std::vector<JsonNode>& items(std::string_view key) const;

  /// An array of numbers of at least `low`, each.
  bool numbers(std::string_view key, std::vector<double>& to, double low) const;

 private:
  const JsonNode& node_;
  std::string subject_;
  FileErrors& errors_;
};

/// "is 'x', NEED; REMEDY" for a value that is not what was needed.
std::string instead_of(const JsonNode& node, std::string_view need, std::string_view remedy);

/// At most 40 bytes of foreign text for a message, control bytes replaced.
std::string excerpt(std::string_view text);

}  // namespace orrery::sim
