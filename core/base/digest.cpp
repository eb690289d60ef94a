#include "core/base/digest.hpp"

namespace orrery {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

void append_hex(std::string& out, std::uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(value >> shift) & 15];
}

std::optional<std::uint64_t> word_from_hex(std::string_view text) {
  std::uint64_t value = 0;
  for (char c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value << 4 | digit;
  }
  return value;
}

}  // namespace

std::string Digest::to_hex() const {
  std::string out;
  out.reserve(32);
  append_hex(out, high);
  append_hex(out, low);
  return out;
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const auto high = word_from_hex(text.substr(0, 16));
  const auto low = word_from_hex(text.substr(16));
  if (!high || !low) return std::nullopt;
  return Digest{*high, *low};
}

}  // namespace orrery
