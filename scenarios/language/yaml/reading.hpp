// Reading a YAML tree against the known keys: every error is kept, with its place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/job/priority_class.hpp"
#include "scenarios/language/yaml/quantities.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// One map of the language: its name in docs/scenario_format.md and the keys it may have. A test
/// holds this list against the document.
struct Section {
  std::string_view name;
  std::span<const std::string_view> keys;
};

/// Every section of the language.
std::span<const Section> all_sections();

/// The section of this name; it exists.
const Section& section(std::string_view name);

/// The candidate nearest to `word` by single edits, or empty where none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// Errors, and warnings, that are kept of one document; one more says how many there were beside.
inline constexpr std::size_t kFindingsMax = 100;

/// What ranges of one document may stand for together; each number takes four bytes.
inline constexpr std::int64_t kRangeNumbersMax = 1 << 22;

/// Collects what is wrong with one document.
class Reading {
 public:
  /// `places[0]` is the file's name, `places[k]` the k-th override as `--set path=value`.
  explicit Reading(std::vector<std::string> places) : places_(std::move(places)) {}

  void fail(Origin origin, std::string subject, std::string message);

  /// Something that is accepted, but its author should know.
  void warn(Origin origin, std::string subject, std::string message);

  /// What jobs may write as their priority. `normal`, which is that of jobs that write none, and
  /// `high` are there unless others of their names are given.
  void set_priority_classes(const std::vector<PriorityClass>& classes);

  const std::vector<PriorityClass>& priority_classes() const { return priority_classes_; }

  /// Takes names that are none of these too: a controller has to judge them.
  void take_other_priority_classes() { takes_other_classes_ = true; }

  bool takes_other_priority_classes() const { return takes_other_classes_; }

  /// A name was taken that is none of these.
  void note_other_priority_class() { has_other_class_ = true; }

  bool has_other_priority_class() const { return has_other_class_; }

  /// Takes room for numbers that a few bytes stand for, as 0-9999 does; false where those of the
  /// document are more than `kRangeNumbersMax`, which is to be told.
  bool take_numbers(std::int64_t count) {
    numbers_ += count;
    return numbers_ <= kRangeNumbersMax;
  }

  /// "file:line" or "--set path=value".
  std::string place(Origin origin) const;

  /// All errors: the file's by line, then the overrides'.
  Errors take_errors();

  /// All warnings, in the same order.
  Errors take_warnings();

  bool failed() const { return errors_ > 0; }

  /// Errors so far, those included that are not kept.
  std::size_t count() const { return errors_; }

  /// Whether no more errors are kept: their words need not be found.
  bool is_full() const { return found_.size() >= kFindingsMax; }

 private:
  struct Found {
    Origin origin;
    std::string subject;
    std::string message;
  };

  Errors take(std::vector<Found>& found, std::size_t& count) const;

  std::vector<std::string> places_;
  std::vector<PriorityClass> priority_classes_{{"normal", 0}, {"high", 100}};
  bool takes_other_classes_ = false;
  bool has_other_class_ = false;
  std::vector<Found> found_;
  std::vector<Found> warnings_;
  std::size_t errors_ = 0;  ///< All, kept or not.
  std::size_t warnings_count_ = 0;
  std::int64_t numbers_ = 0;  ///< That ranges stand for.
};

/// Reads the keys of one map. Values that are absent or wrong leave the target as it is; wrong ones
/// are reported. Unknown and repeated keys are reported at construction.
class MapReader {
 public:
  /// `node` must outlive the reader. `subject` begins every message ("cluster", "job train").
  /// A node that is no map is reported unless it is null, and read as an empty one.
  MapReader(Reading& reading, const YamlNode& node, const Section& section, std::string subject);

  /// The value under `key`, a key of the section; nullptr where absent or null.
  const YamlNode* find(std::string_view key) const;

  bool has(std::string_view key) const { return find(key) != nullptr; }

  /// `subject` with the key appended: "cluster.nodes", "job train: replicas".
  std::string subject_of(std::string_view key) const;

  const std::string& subject() const { return subject_; }

  Origin origin() const { return node_.origin; }

  const YamlNode& node() const { return node_; }

  Reading& reading() const { return reading_; }

  void fail(std::string_view key, std::string message) const;

  /// Reports that `key` is missing; `example` is what to write.
  void missing(std::string_view key, std::string_view example) const;

  void read_text(std::string_view key, std::string& to) const;
  void read_bool(std::string_view key, bool& to) const;
  void read_duration(std::string_view key, Duration& to) const;
  void read_instant(std::string_view key, Instant& to) const;
  void read_size(std::string_view key, Bytes& to) const;
  void read_cpu(std::string_view key, MilliCpu& to) const;

  /// Bytes per second, above 0.
  void read_bandwidth(std::string_view key, double& to) const;

  /// Floating point operations per second, above 0.
  void read_compute(std::string_view key, double& to) const;

  /// A finite number from `low` to `high`.
  void read_number(std::string_view key, double& to, double low, double high) const;

  template <class Integer>
  void read_integer(std::string_view key, Integer& to, std::int64_t low, std::int64_t high) const {
    if (const auto value = integer(key, low, high)) to = static_cast<Integer>(*value);
  }

  template <NamedEnum E>
  void read_enum(std::string_view key, E& to) const {
    const YamlNode* node = find(key);
    if (node == nullptr) return;
    const auto value = node->is_scalar() ? enum_from<E>(node->scalar) : std::nullopt;
    if (value)
      to = *value;
    else
      fail_choice(key, *node, EnumNames<E>::kNames);
  }

  template <NamedEnum E>
  void read_enum(std::string_view key, std::optional<E>& to) const {
    if (!has(key)) return;
    E value{};
    read_enum(key, value);
    to = value;
  }

  /// The items of a list; a value that is no list is reported. Empty where absent.
  std::span<const YamlNode> items(std::string_view key) const;

  /// A list of scalars.
  void read_texts(std::string_view key, std::vector<std::string>& to) const;

 private:
  /// A scalar that `parse` knows; anything else is reported: `need` is needed.
  template <class T, class Parse>
  void read_parsed(std::string_view key,
                   T& to,
                   Parse parse,
                   std::string_view need,
                   std::string_view example) const;
  std::optional<std::int64_t> integer(std::string_view key,
                                      std::int64_t low,
                                      std::int64_t high) const;
  void fail_choice(std::string_view key,
                   const YamlNode& node,
                   std::span<const char* const> choices) const;
  void check_keys() const;

  Reading& reading_;
  const YamlNode& node_;
  const Section& section_;
  std::string subject_;
};

/// Text of a scalar that `message` speaks of: "is 'x', NEED; REMEDY".
std::string found_instead(const YamlNode& node, std::string_view need, std::string_view remedy);

}  // namespace orrery::scenarios
