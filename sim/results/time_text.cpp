#include "sim/results/time_text.hpp"

#include <charconv>
#include <cstddef>

namespace orrery::sim {
namespace {

/// `units` thousandths, millionths, ... of a second: 10^decimals of them make one.
void append_fixed(bool negative, std::uint64_t units, int decimals, std::string& out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, units).ptr;
  const auto count = static_cast<std::size_t>(end - digits);
  const auto after = static_cast<std::size_t>(decimals);
  if (negative) out += '-';
  if (count > after) {
    out.append(digits, count - after);
  } else {
    out += '0';
  }
  out += '.';
  if (count < after) out.append(after - count, '0');
  out.append(count > after ? end - after : digits, count > after ? after : count);
}

std::uint64_t magnitude(std::int64_t ns) {
  return ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
}

}  // namespace

void append_seconds_6(std::int64_t ns, std::string& out) {
  const std::uint64_t us = (magnitude(ns) + 500) / 1000;
  append_fixed(ns < 0 && us > 0, us, 6, out);
}

void append_device_seconds_6(__int128 device_ns, std::string& out) {
  append_fixed(false, static_cast<std::uint64_t>((device_ns + 500) / 1000), 6, out);
}

void append_seconds_exact(std::int64_t ns, std::string& out) {
  append_fixed(ns < 0, magnitude(ns), 9, out);
  while (out.back() == '0') out.pop_back();
  if (out.back() == '.') out.pop_back();
}

}  // namespace orrery::sim
