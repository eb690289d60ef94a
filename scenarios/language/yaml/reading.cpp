#include "scenarios/language/yaml/reading.hpp"

#include <algorithm>
#include <set>

#include "core/base/invariant.hpp"
#include "scenarios/language/yaml/yaml_text.hpp"

namespace orrery::scenarios {
namespace {

/// Edits (insert, remove, change, swap neighbours) from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string join(std::span<const std::string_view> words) {
  std::string out;
  for (std::string_view word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

/// The same parser, for which 0 is wrong.
auto above_zero(std::optional<double> (*parse)(std::string_view)) {
  return [parse](std::string_view text) {
    const std::optional<double> value = parse(text);
    return value && *value > 0 ? value : std::nullopt;
  };
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2);
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance || (best.empty() && distance == best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void Reading::fail(Origin origin, std::string subject, std::string message) {
  ++errors_;
  if (found_.size() >= kFindingsMax) return;
  found_.push_back({origin, std::move(subject), std::move(message)});
}

void Reading::warn(Origin origin, std::string subject, std::string message) {
  ++warnings_count_;
  if (warnings_.size() >= kFindingsMax) return;
  warnings_.push_back({origin, std::move(subject), std::move(message)});
}

void Reading::set_priority_classes(const std::vector<PriorityClass>& classes) {
  for (const PriorityClass& given : classes) {
    const auto known = std::find_if(
        priority_classes_.begin(), priority_classes_.end(), [&](const PriorityClass& each) {
          return each.name == given.name;
        });
    if (known != priority_classes_.end())
      known->priority = given.priority;
    else
      priority_classes_.push_back(given);
  }
}

std::string Reading::place(Origin origin) const {
  std::string text = places_.at(origin.source);
  if (origin.line > 0) text += ":" + std::to_string(origin.line);
  return text;
}

Errors Reading::take_errors() { return take(found_, errors_); }

Errors Reading::take_warnings() { return take(warnings_, warnings_count_); }

Errors Reading::take(std::vector<Found>& found, std::size_t& count) const {
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return a.origin < b.origin;
  });
  Errors errors;
  errors.reserve(found.size());
  for (Found& each : found)
    errors.push_back({ErrorCode::InvalidInput,
                      places_.at(each.origin.source),
                      each.origin.line,
                      std::move(each.subject),
                      std::move(each.message)});
  if (count > found.size())
    errors.push_back({ErrorCode::InvalidInput,
                      places_.front(),
                      0,
                      "more",
                      std::to_string(count - found.size()) + " more were found, the first " +
                          std::to_string(found.size()) + " are told; mend these, then look again"});
  found.clear();
  count = 0;
  return errors;
}

std::string found_instead(const YamlNode& node, std::string_view need, std::string_view remedy) {
  std::string text = "is " + describe(node) + ", ";
  text += need;
  text += " is needed; ";
  text += remedy;
  return text;
}

MapReader::MapReader(Reading& reading,
                     const YamlNode& node,
                     const Section& section,
                     std::string subject)
    : reading_(reading), node_(node), section_(section), subject_(std::move(subject)) {
  if (!node.is_map() && !node.is_null())
    reading_.fail(node.origin,
                  subject_,
                  found_instead(node,
                                "a map with some of the keys " + join(section.keys),
                                "write key: value lines under it"));
  check_keys();
}

void MapReader::check_keys() const {
  std::set<std::string_view> seen;
  for (const YamlEntry& entry : node_.entries) {
    if (!seen.insert(entry.key).second) {
      reading_.fail(entry.key_origin,
                    subject_of(entry.key),
                    "stands twice, each key stands once in a map; remove one of them");
      continue;
    }
    const auto& keys = section_.keys;
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    if (reading_.is_full()) {
      reading_.fail(entry.key_origin, {}, {});
      continue;
    }
    const std::string_view near = nearest(entry.key, keys);
    std::string message = "is no key here, ";
    message += near.empty() ? "known are " + join(keys) + "; remove it"
                            : "the nearest is '" + std::string(near) + "'; rename or remove it";
    reading_.fail(entry.key_origin, subject_of(entry.key), message);
  }
}

const YamlNode* MapReader::find(std::string_view key) const {
  invariant(std::find(section_.keys.begin(), section_.keys.end(), key) != section_.keys.end(),
            "a key that is read is a key of its section");
  const YamlNode* node = node_.find(key);
  return node == nullptr || node->is_null() ? nullptr : node;
}

std::string MapReader::subject_of(std::string_view key) const {
  if (key.empty()) return subject_of("''");
  if (subject_.empty()) return std::string(key);
  const bool sentence =
      subject_.find(' ') != std::string::npos && subject_.find(": ") == std::string::npos;
  return subject_ + (sentence ? ": " : ".") + std::string(key);
}

void MapReader::fail(std::string_view key, std::string message) const {
  reading_.fail(node_.origin_of(key), subject_of(key), std::move(message));
}

void MapReader::missing(std::string_view key, std::string_view example) const {
  reading_.fail(node_.origin,
                subject_of(key),
                "is missing, it is needed; write for example " + std::string(example));
}

template <class T, class Parse>
void MapReader::read_parsed(std::string_view key,
                            T& to,
                            Parse parse,
                            std::string_view need,
                            std::string_view example) const {
  const YamlNode* node = find(key);
  if (node == nullptr) return;
  const std::optional<T> value = node->is_scalar() ? parse(node->scalar) : std::nullopt;
  if (value)
    to = *value;
  else
    fail(key, found_instead(*node, need, example));
}

void MapReader::read_text(std::string_view key, std::string& to) const {
  const auto as_it_is = [](std::string_view text) { return std::optional<std::string>(text); };
  read_parsed(key, to, as_it_is, "a text", "write it on one line");
}

void MapReader::read_bool(std::string_view key, bool& to) const {
  const auto truth = [](std::string_view text) -> std::optional<bool> {
    if (text != "true" && text != "false") return std::nullopt;
    return text == "true";
  };
  read_parsed(key, to, truth, "true or false", "write one of the two");
}

void MapReader::read_duration(std::string_view key, Duration& to) const {
  read_parsed(key,
              to,
              parse_duration,
              "a time with a unit (ns, us, ms, s, min, h, d) below 292 years",
              "write for example 90s");
}

void MapReader::read_instant(std::string_view key, Instant& to) const {
  Duration since_start{to.ns};
  read_duration(key, since_start);
  to = Instant{since_start.ns};
}

void MapReader::read_size(std::string_view key, Bytes& to) const {
  read_parsed(key,
              to,
              parse_size,
              "a size with a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB) below 8,388,608 TiB",
              "write for example 16GiB");
}

void MapReader::read_cpu(std::string_view key, MilliCpu& to) const {
  read_parsed(
      key, to, parse_cpu, "a number of cores or thousandths", "write for example 2 or 500m");
}

void MapReader::read_bandwidth(std::string_view key, double& to) const {
  read_parsed(key,
              to,
              above_zero(parse_bandwidth),
              "a bandwidth above 0 with a unit (Gb/s and Gbit/s are bits, GB/s and GiB/s "
              "bytes)",
              "write for example 400Gb/s or 50GB/s");
}

void MapReader::read_compute(std::string_view key, double& to) const {
  read_parsed(key,
              to,
              above_zero(parse_compute),
              "a rate above 0 with a unit (MFLOPS, GFLOPS, TFLOPS, PFLOPS)",
              "write for example 989TFLOPS");
}

void MapReader::read_number(std::string_view key, double& to, double low, double high) const {
  const YamlNode* node = find(key);
  if (node == nullptr) return;
  const auto value = node->is_scalar() ? parse_number(node->scalar) : std::nullopt;
  bool too_large = false;
  if (value && *value >= low) {
    if (*value <= high) {
      to = *value;
      return;
    }
    too_large = high >= 1e15;
  }
  const auto text = [](double number) {
    std::string digits = std::to_string(number);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
    return digits;
  };
  std::string need = "a number from " + text(low) + " to " + text(high);
  if (high >= 1e15) need = low > 0 ? "a number above 0" : "a number of at least " + text(low);
  if (too_large) need = "a number of at most " + yaml_number(high);
  fail(key, found_instead(*node, need, "correct it"));
}

std::optional<std::int64_t> MapReader::integer(std::string_view key,
                                               std::int64_t low,
                                               std::int64_t high) const {
  const YamlNode* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->is_scalar() ? parse_integer(node->scalar) : std::nullopt;
  if (value && *value >= low && *value <= high) return value;
  fail(key,
       found_instead(*node,
                     "a whole number from " + std::to_string(low) + " to " + std::to_string(high),
                     "correct it"));
  return std::nullopt;
}

void MapReader::fail_choice(std::string_view key,
                            const YamlNode& node,
                            std::span<const char* const> choices) const {
  std::vector<std::string_view> words(choices.begin(), choices.end());
  const std::string_view near = node.is_scalar() ? nearest(node.scalar, words) : std::string_view{};
  fail(key,
       found_instead(node,
                     "one of " + join(words),
                     near.empty() ? "choose one" : "did you mean '" + std::string(near) + "'?"));
}

std::span<const YamlNode> MapReader::items(std::string_view key) const {
  const YamlNode* node = find(key);
  if (node == nullptr) return {};
  if (!node->is_sequence()) {
    fail(key, found_instead(*node, "a list", "write each entry behind a '-'"));
    return {};
  }
  return node->items;
}

void MapReader::read_texts(std::string_view key, std::vector<std::string>& to) const {
  std::vector<std::string> texts;
  for (const YamlNode& item : items(key)) {
    if (item.is_scalar())
      texts.push_back(item.scalar);
    else
      reading_.fail(item.origin,
                    subject_of(key),
                    "an entry " + found_instead(item, "a text", "write it on one line"));
  }
  if (has(key)) to = std::move(texts);
}

}  // namespace orrery::scenarios
