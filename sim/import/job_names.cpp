#include "sim/import/job_names.hpp"

#include <algorithm>

namespace orrery::sim {
namespace {

constexpr std::size_t kLabelMax = 63;

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

std::string as_label(std::string_view id) {
  std::string label;
  for (const char c : id.substr(0, kLabelMax)) {
    if (is_plain(c))
      label += c;
    else if (c >= 'A' && c <= 'Z')
      label += static_cast<char>(c - 'A' + 'a');
    else
      label += '-';
  }
  while (!label.empty() && label.back() == '-') label.pop_back();
  const std::size_t first = label.find_first_not_of('-');
  return first == std::string::npos ? "job" : label.substr(first);
}

}  // namespace

std::string JobNames::name(std::string_view id, std::string& label) {
  const std::string wanted = as_label(id);
  std::string name = used_.insert(wanted).second ? wanted : numbered(wanted);
  if (name != id) label = id;
  return "default." + name;
}

// The least number from 2 on with which the name is new. Numbers of as many digits stand behind the
// same letters: what was tried there before, for whatever id, is taken.
std::string JobNames::numbered(const std::string& wanted) {
  std::int64_t end = 10;
  for (int digits = 1;; ++digits, end *= 10) {
    const std::string stem =
        wanted.substr(0, kLabelMax - 1 - static_cast<std::size_t>(digits)) + "-";
    std::int64_t& next =
        next_.try_emplace({stem, digits}, std::max<std::int64_t>(2, end / 10)).first->second;
    while (next < end) {
      std::string name = stem + std::to_string(next++);
      if (used_.insert(name).second) return name;
    }
  }
}

}  // namespace orrery::sim
