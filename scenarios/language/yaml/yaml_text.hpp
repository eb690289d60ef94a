// Values of the scenario language as text, exact.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/time_spread.hpp"

namespace orrery::scenarios {

/// "90s", "250ms", "7ns": the largest unit that says it exactly.
std::string yaml_duration(Duration value);

/// "{quantiles: [2s, 3s]}"; the spread is not empty.
std::string yaml_spread(const TimeSpread& spread);

/// The shortest decimal that is read as the same number.
std::string yaml_number(double value);

/// In quotes where YAML could read it as something else.
std::string yaml_string(std::string_view text);

/// One map in flow style, "{a: 1, b: x}"; keys in the order in which they come.
class FlowMap {
 public:
  FlowMap& put(std::string_view key, std::string_view yaml) {
    text_ += (text_.empty() ? "" : ", ") + std::string(key) + ": " + std::string(yaml);
    return *this;
  }

  FlowMap& integer(std::string_view key, std::int64_t value) {
    return put(key, std::to_string(value));
  }

  FlowMap& duration(std::string_view key, Duration value) { return put(key, yaml_duration(value)); }

  template <class T>
  FlowMap& unless(const T& usual, std::string_view key, const T& value) {
    if (value == usual) return *this;
    if constexpr (std::is_same_v<T, Duration>)
      return duration(key, value);
    else if constexpr (std::is_same_v<T, bool>)
      return put(key, value ? "true" : "false");
    else if constexpr (std::is_floating_point_v<T>)
      return put(key, yaml_number(value));
    else if constexpr (std::is_integral_v<T>)
      return integer(key, value);
    else if constexpr (std::is_enum_v<T>)
      return put(key, to_string(value));
    else
      return put(key, yaml_string(value));
  }

  bool empty() const { return text_.empty(); }

  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace orrery::scenarios
