#include "scenarios/language/yaml/yaml_text.hpp"

#include <array>
#include <charconv>

namespace orrery::scenarios {

std::string yaml_duration(Duration value) {
  struct Unit {
    std::string_view name;
    std::int64_t ns;
  };

  static constexpr std::array kUnits{
      Unit{"s", 1'000'000'000}, Unit{"ms", 1'000'000}, Unit{"us", 1'000}, Unit{"ns", 1}};
  const std::int64_t ns = value.ns < 0 ? -value.ns : value.ns;
  std::string text = value.ns < 0 ? "-" : "";
  for (const Unit& unit : kUnits)
    if (ns % unit.ns == 0) return text + std::to_string(ns / unit.ns) + std::string(unit.name);
  return text;
}

std::string yaml_spread(const TimeSpread& spread) {
  std::string out;
  for (const Duration time : spread.quantiles)
    out += (out.empty() ? "" : ", ") + yaml_duration(time);
  return "{quantiles: [" + out + "]}";
}

std::string yaml_number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string yaml_string(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text)
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '.' || c == '_' || c == '/');
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace orrery::scenarios
