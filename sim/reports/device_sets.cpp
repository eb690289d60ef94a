#include "sim/reports/device_sets.hpp"

#include <bit>
#include <charconv>
#include <cstdint>

namespace orrery::sim {
namespace {

/// Device numbers `first` up to but without `end`.
struct Interval {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

void append_number(std::uint32_t number, std::string& out) {
  char digits[12];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_interval(const Interval& interval, std::string& out) {
  if (interval.first == interval.end) return;
  if (!out.empty()) out += ' ';
  append_number(interval.first, out);
  if (interval.end == interval.first + 1) return;
  out += '-';
  append_number(interval.end - 1, out);
}

}  // namespace

void append_device_set(const Timeline& timeline,
                       std::span<const DevicePart> parts,
                       std::string& out) {
  std::string set;
  Interval open;
  for (std::size_t i = 0; i < parts.size();) {
    const NodeId node = parts[i].node;
    std::uint64_t devices = 0;  // Shares of one device are parts of their own.
    for (; i < parts.size() && parts[i].node == node; ++i) devices |= parts[i].devices;
    while (devices != 0) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(devices));
      const auto run = static_cast<std::uint32_t>(std::countr_one(devices >> bit));
      devices = run + bit == 64 ? 0 : devices >> (run + bit) << (run + bit);
      const std::uint32_t first = timeline.first_device(node) + bit;
      if (first != open.end) {
        append_interval(open, set);
        open = {first, first};
      }
      open.end = first + run;
    }
  }
  append_interval(open, set);
  out += set;
}

}  // namespace orrery::sim
