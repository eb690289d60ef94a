#include "core/base/amount_text.hpp"

#include <array>
#include <cstdint>

namespace orrery {

std::string counted(std::int64_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

std::string thousandths_text(std::int64_t thousandths) {
  std::string out = std::to_string(thousandths / 1000);
  if (const std::int64_t part = thousandths % 1000; part != 0) {
    std::string digits = std::to_string(1000 + part).substr(1);
    while (digits.back() == '0') digits.pop_back();
    out += "." + digits;
  }
  return out;
}

std::string cores_text(std::int64_t thousandths) {
  return thousandths_text(thousandths) + (thousandths == 1000 ? " core" : " cores");
}

std::string bytes_text(std::int64_t bytes) {
  struct Unit {
    std::int64_t bytes;
    const char* name;
  };

  constexpr std::array kUnits{Unit{1 << 30, "GiB"},
                              Unit{1'000'000'000, "GB"},
                              Unit{1 << 20, "MiB"},
                              Unit{1'000'000, "MB"},
                              Unit{1 << 10, "KiB"},
                              Unit{1'000, "kB"}};
  for (const Unit& unit : kUnits)
    if (bytes >= unit.bytes && bytes % unit.bytes == 0)
      return std::to_string(bytes / unit.bytes) + " " + unit.name;
  return counted(bytes, "byte");
}

std::string listed(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " and " : ", ";
    out += parts[i];
  }
  return out;
}

}  // namespace orrery
