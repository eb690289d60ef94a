#include "runtime/config/key_rights.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdio>

namespace orrery::runtime {

std::optional<Error> check_kept_secret(const std::string& path) {
  struct stat found {};

  if (path.empty() || ::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode))
    return std::nullopt;
  const mode_t open_to = found.st_mode & (S_IRWXG | S_IRWXO);
  const mode_t allowed = found.st_uid == 0 ? S_IRGRP : 0;
  if ((open_to & ~allowed) == 0) return std::nullopt;
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", found.st_mode & 07777u);
  return Error{ErrorCode::InvalidInput,
               path,
               0,
               "rights",
               std::string("mode ") + mode.data() +
                   " found, others can read or write it and take it for theirs; 0600 is needed: "
                   "chmod 600 " +
                   path + ", and make it anew where others may have read it"};
}

}  // namespace orrery::runtime
