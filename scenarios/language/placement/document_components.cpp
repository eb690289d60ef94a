// Components placed by text.
#include <algorithm>
#include <utility>

#include "scenarios/language/placement/document_placement.hpp"

namespace orrery::scenarios {
namespace {

using placement::ErrorKind;
using placement::PlacedText;

/// Whether a key looks like the rest of a placement whose text a comma cut short.
bool looks_like_ranks(const std::string& key) {
  return !key.empty() && key.find_first_not_of("0123456789-: ") == std::string::npos;
}

/// A component without any value.
void refuse_nothing(DocumentReading& reading, const std::string& subject, const PlacedText& key) {
  const bool cut = looks_like_ranks(key.text);
  reading.fail_parse(ErrorKind::PlacementMissing,
                     key.at,
                     {subject,
                      "no placement",
                      "a text like 0-3 or \"0-3:0-7\"",
                      cut ? "put the text before it in quotes: in braces a comma ends it"
                          : "write for example all"});
}

/// A placement that is no text gets a place to complain about, and no text.
std::optional<PlacedText> read_text(DocumentReading& reading,
                                    const std::string& subject,
                                    const YamlNode& node) {
  if (node.is_scalar()) return placed_text(node);
  if (!node.is_null())
    reading.fail_parse(ErrorKind::RankFormat,
                       place_of(node),
                       {subject,
                        "a placement that is " + describe(node),
                        "a text like 0-3 or \"0-3:0-7\"",
                        "write it as one text"});
  return std::nullopt;
}

void read_map(DocumentReading& reading,
              const std::string& subject,
              const YamlNode& map,
              placement::PlacementRule& rule) {
  for (const YamlEntry& entry : map.entries) {
    const bool repeated = map.find(entry.key) != &entry.value;
    const bool known = entry.key == "node_group" || entry.key == "placement";
    if (known && !repeated) continue;
    reading.fail_parse(ErrorKind::UnknownField,
                       place_of(entry.key_start),
                       {subject,
                        "field '" + entry.key + "'" + (repeated ? " a second time" : ""),
                        known ? "each field once" : "node_group and placement",
                        "remove it"});
  }
  if (const YamlNode* group = value_of(map, "node_group"))
    rule.node_groups = read_labels(reading, *group, subject);
  if (const YamlNode* text = map.find("placement"))
    rule.placement = read_text(reading, subject, *text);
}

bool holds_text(const YamlNode& value) {
  const YamlNode* text = value.is_map() ? value.find("placement") : &value;
  return text == nullptr || text->is_scalar() || (text->is_null() && value.is_map());
}

}  // namespace

placement::PlacementRule read_placement_value(DocumentReading& reading,
                                              const PlacedText& components,
                                              const YamlNode& value) {
  placement::PlacementRule rule;
  rule.components = components;
  const std::string subject = "component '" + components.text + "'";
  if (value.is_map())
    read_map(reading, subject, value, rule);
  else if (value.is_null())
    refuse_nothing(reading, subject, components);
  else
    rule.placement = read_text(reading, subject, value);
  return rule;
}

std::vector<placement::PlacementRule> read_component_placement(DocumentReading& reading,
                                                               const YamlNode& node) {
  std::vector<placement::PlacementRule> rules;
  const auto read = [&](const YamlNode& map) {
    for (const YamlEntry& entry : map.entries) {
      placement::PlacementRule rule =
          read_placement_value(reading, {entry.key, place_of(entry.key_start)}, entry.value);
      if (holds_text(entry.value)) rules.push_back(std::move(rule));
    }
  };
  const bool maps = node.is_sequence() &&
                    std::all_of(node.items.begin(), node.items.end(), [](const YamlNode& item) {
                      return item.is_map();
                    });
  if (!node.is_map() && !maps && !node.is_null())
    reading.fail(place_of(node),
                 {"component_placement",
                  describe(node),
                  "a map from components to their placement",
                  "write for example actor: 0-3"});
  read(node);
  if (maps)
    for (const YamlNode& item : node.items) read(item);
  return rules;
}

}  // namespace orrery::scenarios
