#include "runtime/agent/worker_user.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/number_text.hpp"

namespace orrery::runtime {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

/// "1000" or "1000:100".
std::optional<WorkerUser> numbered(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto user = parsed_number<std::uint32_t>(std::string_view(text).substr(0, colon));
  const auto group = colon == std::string::npos
                         ? user
                         : parsed_number<std::uint32_t>(std::string_view(text).substr(colon + 1));
  if (!user || !group) return std::nullopt;
  WorkerUser out;
  out.user = *user;
  out.group = *group;
  out.groups = {*group};
  out.home = "/";
  return out;
}

std::optional<WorkerUser> named(const std::string& name) {
  const File users(std::fopen("/etc/passwd", "re"));
  if (!users) return std::nullopt;
  while (const passwd* row = fgetpwent(users.get())) {
    if (name != row->pw_name) continue;
    WorkerUser out;
    out.user = row->pw_uid;
    out.group = row->pw_gid;
    out.groups = {row->pw_gid};
    out.name = name;
    out.home = row->pw_dir;
    return out;
  }
  return std::nullopt;
}

void add_groups(WorkerUser& user) {
  const File groups(std::fopen("/etc/group", "re"));
  if (!groups) return;
  while (const group* row = fgetgrent(groups.get()))
    for (char** member = row->gr_mem; *member != nullptr; ++member)
      if (user.name == *member && row->gr_gid != user.group) user.groups.push_back(row->gr_gid);
}

}  // namespace

Result<WorkerUser> find_worker_user(const std::string& name) {
  std::optional<WorkerUser> user = numbered(name);
  if (!user) user = named(name);
  if (!user)
    return Error{
        ErrorCode::InvalidInput,
        {},
        0,
        "worker_user",
        "found " + name + ", which is not in /etc/passwd; make the user, or give its number"};
  if (geteuid() != 0 && user->user != geteuid())
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "worker_user",
                 "found " + name + ", but this agent runs as user " + std::to_string(geteuid()) +
                     "; only root may run workers as another user"};
  add_groups(*user);
  return *std::move(user);
}

void run_as(const std::optional<WorkerUser>& user, WorkerLaunch& launch) {
  if (!user || user->user == geteuid()) return;
  launch.as_user = true;
  launch.user = user->user;
  launch.group = user->group;
  launch.groups = user->groups;
}

bool give_to(const WorkerUser& user, const std::string& path) {
  return lchown(path.c_str(), user.user, user.group) == 0;
}

}  // namespace orrery::runtime
