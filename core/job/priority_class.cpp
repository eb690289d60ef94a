#include "core/job/priority_class.hpp"

#include <algorithm>
#include <cctype>

namespace orrery {

bool is_priority_class_name(std::string_view name) {
  constexpr std::size_t kLengthMax = 63;
  const auto is_in_name = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kLengthMax &&
         std::isalpha(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), is_in_name);
}

}  // namespace orrery
