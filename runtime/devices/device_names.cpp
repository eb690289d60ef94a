#include "runtime/devices/device_names.hpp"

#include <algorithm>
#include <array>

namespace orrery::runtime {
namespace {

/// Words that tell a brand and no model.
constexpr std::array<std::string_view, 5> kBrands{
    "nvidia", "geforce", "tesla", "quadro", "graphics"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_kept(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

}  // namespace

std::string short_model_name(std::string_view vendor_name) {
  std::string name;
  while (!vendor_name.empty()) {
    const std::size_t end = std::min(vendor_name.find(' '), vendor_name.size());
    std::string word;
    for (const char c : vendor_name.substr(0, end))
      if (is_kept(lower(c))) word += lower(c);
    vendor_name.remove_prefix(std::min(end + 1, vendor_name.size()));
    if (word.empty() || std::find(kBrands.begin(), kBrands.end(), word) != kBrands.end()) continue;
    if (!name.empty()) name += '-';
    name += word;
  }
  return name.empty() ? "gpu" : name;
}

}  // namespace orrery::runtime
