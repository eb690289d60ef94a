#include "scenarios/language/placement/section_values.hpp"

#include <algorithm>
#include <utility>

#include "scenarios/language/yaml/quantities.hpp"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kSizeMax = 1'048'576;

}  // namespace

const YamlNode* at_path(const YamlNode& root, std::string_view path) {
  const YamlNode* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = value_of(*node, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

SectionValues::SectionValues(DocumentReading& reading,
                             const YamlNode& config,
                             const Interpolation::Variable& variable)
    : reading_(reading), config_(config), values_(config, variable) {}

void SectionValues::read(std::string_view path, std::int32_t& to) const {
  const std::optional<YamlNode> node = at(path);
  if (!node) return;
  const auto value = parse_whole(*node);
  if (value && *value >= 1 && *value <= kSizeMax) {
    to = static_cast<std::int32_t>(*value);
    return;
  }
  reading_.fail(place_of_path(path, *node),
                {std::string(path), describe(*node), "a whole number from 1", "correct it"});
}

void SectionValues::read(std::string_view path, std::string& to) const {
  const std::optional<YamlNode> node = at(path);
  if (!node) return;
  if (node->is_scalar())
    to = node->scalar;
  else
    reading_.fail(place_of_path(path, *node),
                  {std::string(path), describe(*node), "a text", "correct it"});
}

void SectionValues::read(std::string_view path, bool& to) const {
  const std::optional<YamlNode> node = at(path);
  if (!node) return;
  const auto value = parse_truth(*node);
  if (value)
    to = *value;
  else
    reading_.fail(place_of_path(path, *node),
                  {std::string(path), describe(*node), "true or false", "correct it"});
}

std::optional<PlacedNumber> SectionValues::number(std::string_view path) const {
  const std::optional<YamlNode> node = at(path);
  if (!node) return std::nullopt;
  const placement::TextPosition place = place_of_path(path, *node);
  const auto value = parse_whole(*node);
  if (value) return PlacedNumber{*value, place};
  reading_.fail(place, {std::string(path), describe(*node), "a whole number", "correct it"});
  return std::nullopt;
}

std::optional<PlacedWord> SectionValues::word(std::string_view path) const {
  const std::optional<YamlNode> node = at(path);
  if (!node) return std::nullopt;
  const placement::TextPosition place = place_of_path(path, *node);
  if (node->is_scalar()) return PlacedWord{node->scalar, place};
  reading_.fail(place, {std::string(path), describe(*node), "a word", "correct it"});
  return std::nullopt;
}

std::optional<PlacedWord> SectionValues::if_on(std::string_view path) const {
  bool is_on = false;
  read(path, is_on);
  return is_on ? word(path) : std::nullopt;
}

std::optional<YamlNode> SectionValues::at(std::string_view path) const {
  Result<YamlNode> value = values_.at(path);
  if (value) {
    if (value.value().is_null()) return std::nullopt;
    return std::move(value).value();
  }
  const YamlNode* written = at_path(config_, path);
  const Error& error = value.errors().front();
  reading_.add_document(place_of(written == nullptr ? config_ : *written),
                        error.subject + ": " + error.message);
  return std::nullopt;
}

placement::TextPosition SectionValues::place_of_path(std::string_view path,
                                                     const YamlNode& value) const {
  const YamlNode* const written = at_path(config_, path);
  return place_of(written == nullptr ? value : *written);
}

}  // namespace orrery::scenarios
