#include "sim/import/job_names.hpp"

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
  std::string name = wanted;
  for (int number = 2; !used_.insert(name).second; ++number) {
    const std::string tail = "-" + std::to_string(number);
    name = wanted.substr(0, kLabelMax - tail.size()) + tail;
  }
  if (name != id) label = id;
  return "default." + name;
}

}  // namespace orrery::sim
