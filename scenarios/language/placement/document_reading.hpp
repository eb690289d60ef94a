// What the readers of a placement document share: places, words and errors.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/placement/placement_error.hpp"
#include "scenarios/language/placement/placement_document.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

/// When RLinf comes across an error of stage config; errors are told in this order.
struct ConfigStep {
  enum class Phase : std::uint8_t { Document, Fields, Group, Ranks, Hardware, Count, Labels };
  enum class Part : std::uint8_t { HardwareFields, HardwareType, Entries, Ignored, Env, Label };

  Phase phase = Phase::Document;
  std::int32_t group = 0;  ///< Index in `node_groups`, in phase Group.
  Part part = Part::HardwareFields;

  friend auto operator<=>(const ConfigStep&, const ConfigStep&) = default;
};

/// What an error says: placement::PlacementError has the same words.
struct ErrorWords {
  std::string subject;
  std::string found;
  std::string needed;
  std::string remedy;
};

/// Collects what is wrong with one document.
class DocumentReading {
 public:
  using Kind = placement::ErrorKind;
  using Phase = ConfigStep::Phase;
  using Part = ConfigStep::Part;

  /// An error of stage config.
  void fail(Kind kind, ConfigStep step, placement::TextPosition at, ErrorWords words);

  /// An error of the document itself, which no kind of the list fits.
  void fail(placement::TextPosition at, ErrorWords words);

  /// An error of stage parse.
  void fail_parse(Kind kind, placement::TextPosition at, ErrorWords words);

  /// Errors that placement::make_inventory found; `groups` are where the node groups begin.
  void add(const placement::PlacementErrors& errors,
           std::span<const placement::TextPosition> groups);

  /// Something that every unread document has in common with its reader: words as they are.
  void add_document(placement::TextPosition at, std::string message);

  /// The files that the document is composed of, by Origin::source of its nodes.
  void set_files(std::vector<std::string> files) { files_ = std::move(files); }

  /// What a reader of scenarios is to call the places of the document's nodes.
  std::vector<std::string> places() const;

  /// What such a reader found; `lines` are added to each line.
  void add_scenario(const Errors& errors, int lines = 0);

  bool failed() const { return !found_.empty(); }

  /// All errors: stage config in the order of steps, then the others as they came.
  std::vector<PlacementFinding> take_findings();

 private:
  struct Found {
    PlacementFinding finding;
    ConfigStep step;
  };

  std::vector<Found> found_;
  std::vector<std::string> files_;  ///< Empty: it is one text.
};

/// Lines of a document's `yaml_text` are counted on from here while it is read.
inline constexpr int kYamlTextLines = 1'000'000'000;

/// Lines of the k-th file that a document is composed of are counted on from k times this.
inline constexpr int kFileLines = 1'000'000;

/// Moves all places of a tree into `yaml_text`.
void move_into_yaml_text(YamlNode& node);

/// Moves the places of a composed tree into their files.
void move_into_files(YamlNode& node);

/// Resolves merge keys, `<<: *defaults`, as YAML 1.1 does: keys of the maps named that a map does
/// not have itself, of an earlier one first. What is no map stays as it is.
void merge_keys(YamlNode& node);

/// An error as the program tells it.
PlacementFinding finding_of(const placement::PlacementError& error);

placement::TextPosition place_of(TextStart start);
placement::TextPosition place_of(const YamlNode& node);

/// A scalar's words with their place.
placement::PlacedText placed_text(const YamlNode& scalar);

/// The value under `key` unless it is null.
const YamlNode* value_of(const YamlNode& map, std::string_view key);

/// true, false and YAML 1.1's other words for them in any letter case.
std::optional<bool> parse_truth(const YamlNode& node);

/// Reads a truth value; null is `otherwise`, what is none is an error of the document.
bool read_truth(DocumentReading& reading,
                const YamlNode& node,
                const std::string& subject,
                bool otherwise);

/// A whole number written without quotes, sign "-" allowed.
std::optional<std::int64_t> parse_whole(const YamlNode& node);

/// Labels: a text, which may hold commas, or a list of texts. What is neither is an error.
std::vector<placement::PlacedText> read_labels(DocumentReading& reading,
                                               const YamlNode& node,
                                               const std::string& subject);

}  // namespace orrery::scenarios
