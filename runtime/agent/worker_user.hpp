// The user that workers run as.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "runtime/shim/worker_files.hpp"

namespace orrery::runtime {

/// A user by numbers, with all groups.
struct WorkerUser {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;
  std::string name;
  std::string home;
};

/// Looks `name` up in the files of users and groups; directories of a network are not asked, for a
/// static program has no modules for them: there give the number of the user, "1000" or "1000:100".
/// Errors: there is no such user, or this program may not change its user.
Result<WorkerUser> find_worker_user(const std::string& name);

/// Lets a process run as the user; as this program's own where there is none.
void run_as(const std::optional<WorkerUser>& user, WorkerLaunch& launch);

/// Gives a file or folder to the user. False where the system refuses.
bool give_to(const WorkerUser& user, const std::string& path);

}  // namespace orrery::runtime
