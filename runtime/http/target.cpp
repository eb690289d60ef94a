#include "runtime/http/target.hpp"

#include <algorithm>

#include "core/base/number_text.hpp"

namespace orrery::http {
namespace {

Error bad(std::string subject, std::string message) {
  return {ErrorCode::InvalidInput, {}, 0, std::move(subject), std::move(message)};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool decode(std::string_view text, bool plus_is_space, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return false;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0)) return false;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return true;
}

Error bad_escape(std::string_view text) {
  return bad("target",
             "'" + std::string(text.substr(0, 200)) +
                 "' has a percent sign without two hexadecimal digits, or escapes a zero byte; "
                 "write a percent sign as %25");
}

// "http://host:port/path" is allowed to clients that think they talk to a proxy.
std::string_view without_authority(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (text.starts_with('/') || scheme == std::string_view::npos) return text;
  const std::size_t path = text.find('/', scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : text.substr(path);
}

}  // namespace

void Query::add(std::string name, std::string value) {
  parameters_.push_back({std::move(name), std::move(value)});
}

std::optional<std::string> Query::take(std::string_view name) {
  for (Parameter& each : parameters_) {
    if (each.taken || each.name != name) continue;
    each.taken = true;
    return each.value;
  }
  return std::nullopt;
}

std::vector<std::string> Query::take_all(std::string_view name) {
  std::vector<std::string> out;
  while (std::optional<std::string> value = take(name)) out.push_back(std::move(*value));
  return out;
}

std::uint64_t Query::take_number(std::string_view name,
                                 std::uint64_t fallback,
                                 std::uint64_t low,
                                 std::uint64_t high) {
  const std::optional<std::string> text = take(name);
  if (!text) return fallback;
  const std::optional<std::uint64_t> value = parsed_number<std::uint64_t>(*text);
  if (value && *value >= low && *value <= high) return *value;
  errors_.push_back(bad("query " + std::string(name),
                        "found '" + *text + "', a whole number from " + std::to_string(low) +
                            " to " + std::to_string(high) + " is needed"));
  return fallback;
}

bool Query::take_flag(std::string_view name) {
  const std::optional<std::string> text = take(name);
  if (!text || *text == "0" || *text == "false") return false;
  if (text->empty() || *text == "1" || *text == "true") return true;
  errors_.push_back(bad("query " + std::string(name), "found '" + *text + "', 0 or 1 is needed"));
  return false;
}

Errors Query::errors(std::string_view known) const {
  Errors out = errors_;
  for (const Parameter& each : parameters_)
    if (!each.taken)
      out.push_back(bad("query " + each.name,
                        known.empty()
                            ? "no parameter is known here; leave it out"
                            : "unknown, or given twice; known here: " + std::string(known)));
  return out;
}

Result<Target> read_target(std::string_view text) {
  text = without_authority(text);
  text = text.substr(0, text.find('#'));
  const std::size_t mark = text.find('?');
  std::string_view path = text.substr(0, mark);
  if (!path.starts_with('/'))
    return bad("target", "'" + std::string(path.substr(0, 200)) + "' does not begin with a slash");
  Target out;
  std::string part;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = path.find('/');
    if (!decode(path.substr(0, end), false, part)) return bad_escape(path.substr(0, end));
    out.parts.push_back(part);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  }
  if (out.parts.back().empty()) out.parts.pop_back();  // A slash at the end.
  std::string_view rest =
      mark == std::string_view::npos ? std::string_view() : text.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    std::string name;
    std::string value;
    const std::string_view after =
        equals == std::string_view::npos ? std::string_view() : one.substr(equals + 1);
    if (!decode(one.substr(0, equals), true, name) || !decode(after, true, value))
      return bad_escape(one);
    out.query.add(std::move(name), std::move(value));
  }
  return out;
}

}  // namespace orrery::http
