#include "scenarios/language/rlinf/interpolation.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "scenarios/language/yaml/quantities.hpp"

namespace orrery::scenarios {
namespace {

/// Values that refer to each other in a row, at most; more lead back to themselves.
constexpr int kStepsMax = 64;

/// What no whole number of a document is. It has no positive counterpart either.
constexpr std::int64_t kNoNumber = INT64_MIN;

using Path = std::vector<std::string>;

/// "a.b[0]" as a, b, 0.
Path steps_of(std::string_view text) {
  Path out;
  std::string step;
  for (const char c : text) {
    if (c == '.' || c == '[' || c == ']') {
      if (!step.empty()) out.push_back(std::exchange(step, {}));
    } else {
      step += c;
    }
  }
  if (!step.empty()) out.push_back(std::move(step));
  return out;
}

std::string text_of(const Path& path) {
  std::string out;
  for (const std::string& step : path) out.append(out.empty() ? "" : ".").append(step);
  return out;
}

/// Index behind the brace that closes the one at `open`; npos where none does.
std::size_t close_of(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// Arguments between commas outside of braces, brackets and quotes.
std::vector<std::string_view> arguments_of(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  out.push_back(trimmed(text.substr(begin)));
  return out;
}

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

/// Resolves one value.
class Resolution {
 public:
  Resolution(const YamlNode& root, const Interpolation::Variable& variable)
      : root_(root), variable_(variable) {}

  Result<YamlNode> at(const Path& path) {
    const YamlNode* found = walk(path);
    if (error_) return *error_;
    if (found == nullptr) return YamlNode{};
    YamlNode value = evaluated(*found, place_);
    if (error_) return *error_;
    return value;
  }

 private:
  /// The node at a path, through references to maps and lists on the way; `place_` is where it
  /// stands in the end.
  const YamlNode* walk(const Path& path) {  // NOLINT(misc-no-recursion): kStepsMax deep
    const YamlNode* node = &root_;
    Path at;
    for (std::size_t i = 0; i < path.size(); ++i) {
      node = step(*node, path[i]);
      at.push_back(path[i]);
      if (node == nullptr) return nullptr;
      if (i + 1 == path.size()) break;
      while (const std::optional<Path> target = target_of(*node, at)) {
        if (!goes_on(*node, at)) return nullptr;
        node = walk(*target);
        if (node == nullptr) return nullptr;
        at = place_;
      }
    }
    place_ = std::move(at);
    return node;
  }

  static const YamlNode* step(const YamlNode& node, const std::string& key) {
    if (!node.is_sequence()) return node.find(key);
    const auto index = parse_integer(key);
    if (!index || *index < 0 || static_cast<std::size_t>(*index) >= node.items.size())
      return nullptr;
    return &node.items[static_cast<std::size_t>(*index)];
  }

  /// Where a value that is one plain reference refers to.
  std::optional<Path> target_of(const YamlNode& node, const Path& place) {
    if (!node.is_scalar() || !node.scalar.starts_with("${") ||
        close_of(node.scalar, 1) != node.scalar.size())
      return std::nullopt;
    const std::string inside = node.scalar.substr(2, node.scalar.size() - 3);
    if (inside.find_first_of(":$") != std::string::npos) return std::nullopt;
    return absolute(inside, place);
  }

  /// A reference from the value at `place`: one dot is the map around it, each more one above.
  static Path absolute(std::string_view reference, const Path& place) {
    const std::size_t dots = std::min(reference.find_first_not_of('.'), reference.size());
    Path out;
    if (dots > 0 && place.size() > dots)
      out.assign(place.begin(), place.end() - static_cast<std::ptrdiff_t>(dots));
    for (std::string& step : steps_of(reference.substr(dots))) out.push_back(std::move(step));
    return out;
  }

  bool goes_on(const YamlNode& node, const Path& place) {
    if (++steps_ <= kStepsMax) return !error_;
    fail(node, place, "leads back to itself; write a value");
    return false;
  }

  void fail(const YamlNode& node, const Path& place, const std::string& message) {
    if (!error_)
      error_ = Error{ErrorCode::InvalidInput, {}, node.origin.line, text_of(place), message};
  }

  static YamlNode scalar(const YamlNode& like, std::string text, bool quoted = false) {
    YamlNode out;
    out.kind = YamlNode::Kind::Scalar;
    out.origin = like.origin;
    out.start = like.start;
    out.quoted = quoted;
    out.scalar = std::move(text);
    return out;
  }

  YamlNode evaluated(const YamlNode& node,
                     const Path& place) {  // NOLINT(misc-no-recursion): see `goes_on`
    if (!node.is_scalar() || node.scalar.find("${") == std::string::npos) return node;
    if (!goes_on(node, place)) return {};
    const std::string& text = node.scalar;
    if (text.starts_with("${") && close_of(text, 1) == text.size())
      return expression(std::string_view(text).substr(2, text.size() - 3), node, place);
    return scalar(node, embedded(text, node, place), true);
  }

  /// Text with what it refers to put in as text.
  std::string embedded(std::string_view text,  // NOLINT(misc-no-recursion): see `goes_on`
                       const YamlNode& node,
                       const Path& place) {
    std::string out;
    while (true) {
      const std::size_t open = text.find("${");
      out += text.substr(0, open);
      if (open == std::string_view::npos || error_) return out;
      const std::size_t close = close_of(text, open + 1);
      if (close == std::string_view::npos) {
        fail(node, place, "opens ${ and does not close it; add }");
        return out;
      }
      const YamlNode value = expression(text.substr(open + 2, close - open - 3), node, place);
      if (!error_ && !value.is_scalar() && !value.is_null())
        fail(node, place, "puts " + describe(value) + " into a text; refer to one value");
      out += value.is_null() ? "None" : value.scalar;
      text.remove_prefix(close);
    }
  }

  /// What stands between ${ and }.
  YamlNode expression(std::string_view text,  // NOLINT(misc-no-recursion): see `goes_on`
                      const YamlNode& node,
                      const Path& place) {
    if (!goes_on(node, place)) return {};
    const std::size_t colon = text.find(':');
    const std::size_t brace = text.find('{');
    if (colon != std::string_view::npos && (brace == std::string_view::npos || colon < brace))
      return called(trimmed(text.substr(0, colon)), text.substr(colon + 1), node, place);
    const std::string reference = embedded(trimmed(text), node, place);
    if (error_) return {};
    const YamlNode* found = walk(absolute(reference, place));
    if (error_) return {};
    if (found == nullptr) {
      fail(node, place, "refers to " + reference + ", which is not there; correct it");
      return {};
    }
    const Path stands = place_;
    return evaluated(*found, stands);
  }

  /// An argument's value.
  YamlNode argument(std::string_view text,  // NOLINT(misc-no-recursion): see `goes_on`
                    const YamlNode& node,
                    const Path& place) {
    if (text.starts_with("${") && close_of(text, 1) == text.size())
      return expression(text.substr(2, text.size() - 3), node, place);
    return scalar(node, embedded(unquoted(text), node, place));
  }

  YamlNode called(std::string_view name,  // NOLINT(misc-no-recursion): see `goes_on`
                  std::string_view inside,
                  const YamlNode& node,
                  const Path& place) {
    const std::vector<std::string_view> words = arguments_of(inside);
    const auto value = [&](std::size_t i) { return argument(words[i], node, place); };
    if (name == "oc.env" && words.size() <= 2) {
      const std::string variable = value(0).scalar;
      const auto set = variable_ ? variable_(variable) : std::nullopt;
      if (set) return scalar(node, *set);
      if (words.size() == 2) return value(1);
      fail(node, place, variable + " is not set in the environment; set it");
      return {};
    }
    if (name == "oc.decode" && words.size() == 1) return decoded(value(0), node, place);
    if (name == "oc.select" && words.size() <= 2) {
      const YamlNode* found = walk(steps_of(value(0).scalar));
      if (found != nullptr) {
        const Path stands = place_;
        return evaluated(*found, stands);
      }
      return words.size() == 2 && !error_ ? value(1) : YamlNode{};
    }
    if (name == "torch.dtype" && words.size() == 1) return value(0);
    if (name == "not" && words.size() == 1) {
      const YamlNode one = value(0);
      const bool yes = one.scalar == "true" || one.scalar == "True";
      if (!yes && one.scalar != "false" && one.scalar != "False")
        fail(node, place, "negates " + describe(one) + ", true or false is needed; correct it");
      return scalar(node, yes ? "false" : "true");
    }
    if (words.size() == 2 && (name == "subtract" || name == "multiply" || name == "int_div"))
      return computed(name, value(0), value(1), node, place);
    fail(node,
         place,
         "calls " + std::string(name) + " with " + std::to_string(words.size()) +
             " values; known are oc.env, oc.decode, oc.select, subtract, multiply, int_div, not "
             "and torch.dtype; write the value");
    return {};
  }

  YamlNode decoded(const YamlNode& text, const YamlNode& node, const Path& place) {
    if (error_ || !text.is_scalar()) return text;
    Result<YamlNode> tree = parse_yaml(text.scalar, "", node.origin.source);
    if (tree) return std::move(tree).value();
    fail(node, place, "decodes '" + text.scalar + "', which is no value; correct it");
    return {};
  }

  YamlNode computed(std::string_view name,
                    const YamlNode& a,
                    const YamlNode& b,
                    const YamlNode& node,
                    const Path& place) {
    if (error_) return {};
    const std::int64_t x = a.is_scalar() ? parse_integer(a.scalar).value_or(kNoNumber) : kNoNumber;
    const std::int64_t y = b.is_scalar() ? parse_integer(b.scalar).value_or(kNoNumber) : kNoNumber;
    std::int64_t out = 0;
    bool fits = x != kNoNumber && y != kNoNumber;
    if (fits && name == "subtract") fits = !__builtin_sub_overflow(x, y, &out);
    if (fits && name == "multiply") fits = !__builtin_mul_overflow(x, y, &out);
    if (fits && name == "int_div") {
      fits = y != 0;
      // Towards minus infinity, as Python divides.
      if (fits) out = x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
    }
    if (!fits)
      fail(node,
           place,
           "takes " + describe(a) + " and " + describe(b) + " for " + std::string(name) +
               ", two whole numbers are needed; correct them");
    return scalar(node, std::to_string(out));
  }

  const YamlNode& root_;
  const Interpolation::Variable& variable_;
  Path place_;  ///< Of the node that `walk` found last.
  int steps_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<YamlNode> Interpolation::at(std::string_view path) const {
  return Resolution(root_, variable_).at(steps_of(path));
}

bool Interpolation::has(std::string_view path) const {
  const Result<YamlNode> found = at(path);
  return !found || !found.value().is_null();
}

}  // namespace orrery::scenarios
