#include "scenarios/language/placement/document_reading.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "scenarios/language/yaml/quantities.hpp"

namespace orrery::scenarios {
namespace {

using placement::ErrorKind;
using placement::Stage;
using placement::TextPosition;

/// The last group that begins at or before `at`.
std::int32_t group_at(TextPosition at, std::span<const TextPosition> groups) {
  std::int32_t found = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] <= at) found = static_cast<std::int32_t>(i);
  return found;
}

/// Where in RLinf's order an error stands that only a whole declaration shows.
ConfigStep step_of(ErrorKind kind, std::int32_t group) {
  using Phase = ConfigStep::Phase;
  using Part = ConfigStep::Part;
  switch (kind) {
    case ErrorKind::HardwareTypeUnsupported:
      return {Phase::Group, group, Part::HardwareType};
    case ErrorKind::UnknownField:
    case ErrorKind::MissingField:
    case ErrorKind::HardwareConfigNotMapping:
    case ErrorKind::HardwareConfigDuplicate:
      return {Phase::Group, group, Part::Entries};
    case ErrorKind::HardwareWithIgnoreHardware:
      return {Phase::Group, group, Part::Ignored};
    case ErrorKind::ReservedLabel:
      return {Phase::Group, group, Part::Label};
    case ErrorKind::HardwareNodeRankOutsideGroup:
    case ErrorKind::HardwareTypeTwiceOnNode:
      return {Phase::Hardware, 0, {}};
    case ErrorKind::DuplicateLabel:
      return {Phase::Labels, 0, {}};
    default:
      return {Phase::Ranks, 0, {}};
  }
}

void set_place(PlacementFinding& finding, TextPosition at) {
  finding.at = at;
  finding.in_yaml_text = at.line >= kYamlTextLines;
  if (finding.in_yaml_text) finding.at.line -= kYamlTextLines;
  finding.file = static_cast<std::size_t>(std::max(finding.at.line, 0) / kFileLines);
  finding.at.line %= kFileLines;
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

PlacementFinding finding_of(const placement::PlacementError& error) {
  PlacementFinding finding;
  finding.kind = to_string(error.kind);
  finding.stage = error.stage;
  finding.message = error.message();
  set_place(finding, error.at);
  return finding;
}

void DocumentReading::fail(Kind kind, ConfigStep step, TextPosition at, ErrorWords words) {
  found_.push_back({finding_of({kind,
                                Stage::Config,
                                at,
                                std::move(words.subject),
                                std::move(words.found),
                                std::move(words.needed),
                                std::move(words.remedy)}),
                    step});
}

void DocumentReading::fail(TextPosition at, ErrorWords words) {
  fail(Kind::UnknownField, {}, at, std::move(words));
  found_.back().finding.kind = "document";
}

void DocumentReading::fail_parse(Kind kind, TextPosition at, ErrorWords words) {
  fail(kind, {}, at, std::move(words));
  found_.back().finding.stage = Stage::Parse;
}

void DocumentReading::add(const placement::PlacementErrors& errors,
                          std::span<const TextPosition> groups) {
  for (const placement::PlacementError& error : errors)
    found_.push_back({finding_of(error), step_of(error.kind, group_at(error.at, groups))});
}

void DocumentReading::add_document(TextPosition at, std::string message) {
  PlacementFinding finding;
  finding.kind = "document";
  finding.message = std::move(message);
  set_place(finding, at);
  found_.push_back({std::move(finding), {}});
}

std::vector<std::string> DocumentReading::places() const {
  return files_.empty() ? std::vector<std::string>{""} : files_;
}

void DocumentReading::add_scenario(const Errors& errors, int lines) {
  const std::vector<std::string> known = places();
  for (const Error& error : errors) {
    const auto file = std::find(known.begin(), known.end(), error.file) - known.begin();
    add_document({static_cast<int>(file) * kFileLines + error.line + lines, error.line > 0 ? 1 : 0},
                 error.subject + ": " + error.message);
  }
}

std::vector<PlacementFinding> DocumentReading::take_findings() {
  std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
    return std::tie(a.finding.stage, a.step) < std::tie(b.finding.stage, b.step);
  });
  std::vector<PlacementFinding> findings;
  findings.reserve(found_.size());
  for (Found& found : found_) findings.push_back(std::move(found.finding));
  found_.clear();
  return findings;
}

// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
void move_into_yaml_text(YamlNode& node) {
  node.start.line += kYamlTextLines;
  for (YamlNode& item : node.items) move_into_yaml_text(item);
  for (YamlEntry& entry : node.entries) {
    entry.key_start.line += kYamlTextLines;
    move_into_yaml_text(entry.value);
  }
}

// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
void move_into_files(YamlNode& node) {
  const auto lines = [](const Origin& origin) {
    return static_cast<int>(origin.source) * kFileLines;
  };
  node.start.line += lines(node.origin);
  for (YamlNode& item : node.items) move_into_files(item);
  for (YamlEntry& entry : node.entries) {
    entry.key_start.line += lines(entry.key_origin);
    move_into_files(entry.value);
  }
}

// NOLINTNEXTLINE(misc-no-recursion): a tree of at most kYamlDepthMax levels
void merge_keys(YamlNode& node) {
  for (YamlNode& item : node.items) merge_keys(item);
  for (YamlEntry& entry : node.entries) merge_keys(entry.value);
  const YamlNode* merged = node.find("<<");
  if (merged == nullptr) return;
  std::vector<YamlNode> sources;
  if (merged->is_map()) sources.push_back(*merged);
  if (merged->is_sequence()) sources = merged->items;
  const bool maps = std::all_of(
      sources.begin(), sources.end(), [](const YamlNode& source) { return source.is_map(); });
  if (sources.empty() || !maps) return;
  std::erase_if(node.entries, [](const YamlEntry& entry) { return entry.key == "<<"; });
  for (YamlNode& source : sources)
    for (YamlEntry& entry : source.entries)
      if (node.find(entry.key) == nullptr) node.entries.push_back(std::move(entry));
}

TextPosition place_of(TextStart start) { return {start.line, start.column}; }

TextPosition place_of(const YamlNode& node) { return place_of(node.start); }

placement::PlacedText placed_text(const YamlNode& scalar) {
  return {scalar.scalar, place_of(scalar)};
}

const YamlNode* value_of(const YamlNode& map, std::string_view key) {
  const YamlNode* node = map.find(key);
  return node == nullptr || node->is_null() ? nullptr : node;
}

std::optional<bool> parse_truth(const YamlNode& node) {
  if (!node.is_scalar() || node.quoted) return std::nullopt;
  const std::string word = lower(node.scalar);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

bool read_truth(DocumentReading& reading,
                const YamlNode& node,
                const std::string& subject,
                bool otherwise) {
  if (node.is_null()) return otherwise;
  const auto truth = parse_truth(node);
  if (!truth)
    reading.fail(
        place_of(node),
        {subject, describe(node), "true or false", "write one of the two, without quotes"});
  return truth.value_or(otherwise);
}

std::optional<std::int64_t> parse_whole(const YamlNode& node) {
  return node.is_scalar() && !node.quoted ? parse_integer(node.scalar) : std::nullopt;
}

std::vector<placement::PlacedText> read_labels(DocumentReading& reading,
                                               const YamlNode& node,
                                               const std::string& subject) {
  if (node.is_scalar()) return {placed_text(node)};
  std::vector<placement::PlacedText> labels;
  for (const YamlNode& item : node.items) {
    if (item.is_scalar())
      labels.push_back(placed_text(item));
    else
      reading.fail_parse(placement::ErrorKind::NodeGroupNotFound,
                         place_of(item),
                         {subject,
                          describe(item) + " as a label",
                          "the label of a node group",
                          "write one text a group"});
  }
  if (node.is_map())
    reading.fail_parse(placement::ErrorKind::NodeGroupNotFound,
                       place_of(node),
                       {subject,
                        "a map as node_group",
                        "a label or a list of labels",
                        "write for example node_group: a800"});
  if (node.is_sequence() && node.items.empty()) labels.push_back({"", place_of(node)});
  return labels;
}

}  // namespace orrery::scenarios
