// Numbers in text.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace orrery {

/// The number that `text` is, from its first character to its last: digits of `base` with a "-"
/// where T is signed; of a floating-point T decimal or scientific notation (`base` is 10 then).
/// Nothing where `text` is empty or holds anything else (blanks and "+" too), where the number does
/// not fit T, and where it is infinite or not a number. Knows no locale.
template <class T>
std::optional<T> parsed_number(std::string_view text, int base = 10) {
  T value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>)
    read = std::from_chars(text.data(), end, value);
  else
    read = std::from_chars(text.data(), end, value, base);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace orrery
