#include "runtime/security/role.hpp"

#include <algorithm>

#include "core/job/spec.hpp"

namespace orrery::runtime {

bool is_holder_name(Role role, std::string_view name) {
  if (role == Role::Agent) return is_dns_label(name);
  return !name.empty() && name.size() <= 63 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '@' || c == '-';
         });
}

}  // namespace orrery::runtime
