#include "runtime/agent/environments.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/agent/worker_starts.hpp"
#include "runtime/shim/stored_record.hpp"

namespace orrery::runtime {
namespace {

// Of the log of a run that failed.
constexpr std::size_t kShownBytes = 2048;

bool is_key(const std::string& key) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !key.empty() && key.size() <= 63 && key != "." && key != ".." &&
         std::ranges::all_of(key, good);
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void remove_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

Environments::Standing Environments::ask(const IsolationSpec& isolation, Instant now) {
  const std::string& key = isolation.key;
  if (!is_key(key)) return {false, "isolation key " + key + ": needed 1 to 63 of [A-Za-z0-9._-]"};
  if (isolation.prepare.empty() || exists(means_.prepared + "/" + key)) {
    if (exists(folder_of(key))) return {true, {}};
    if (isolation.prepare.empty())
      return {false,
              "isolation " + key + ": nothing prepares it and " + folder_of(key) +
                  " is not there; make that folder, or name a program that does"};
  }
  const auto failed = failures_.find(key);
  if (failed != failures_.end()) {
    Standing standing{false, failed->second};
    failures_.erase(failed);
    return standing;
  }
  if (runs_.contains(key)) return {};
  if (const std::optional<std::string> failure = begin(isolation, now)) return {false, *failure};
  return {};
}

/// Nothing: a run is under way.
std::optional<std::string> Environments::begin(const IsolationSpec& isolation, Instant now) {
  const std::string& key = isolation.key;
  const std::string run_folder = means_.preparing + "/" + key;
  const Instant deadline = now + isolation.prepare_deadline;
  // An earlier life of the agent may have begun it.
  if (exists(run_folder + "/spec")) {
    ProcessScan scan;
    if (std::optional<ShimProcess> found = ShimProcess::adopt(run_folder, scan)) {
      const auto status = restored<WorkerStatus>(read_file(run_folder + "/status").value_or(""));
      if (!status || (status->kind == EndKind::Exited && status->exit_code == 0)) {
        runs_.emplace(key, Run{*std::move(found), deadline});
        return std::nullopt;
      }
    }
  }
  remove_folder(run_folder);
  remove_folder(folder_of(key));
  const auto refused = [&](const std::string& what) {
    return "isolation " + key + ": " + what + ": " + std::strerror(errno);
  };
  if (mkdir(run_folder.c_str(), 0711) != 0) return refused(run_folder + " cannot be made");
  if (mkdir(folder_of(key).c_str(), 0755) != 0 ||
      (means_.user && !give_to(*means_.user, folder_of(key))))
    return refused(folder_of(key) + " cannot be made");
  WorkerLaunch launch;
  launch.token = random_token();
  launch.command = isolation.prepare;
  for (char** entry = environ; *entry != nullptr; ++entry) launch.environment.emplace_back(*entry);
  launch.environment.push_back("ORRERY_ENVIRONMENT=" + folder_of(key));
  launch.environment.push_back(std::string(kTokenVariable) + "=" + launch.token);
  launch.working_directory = folder_of(key);
  launch.lease_file = means_.lease_file;
  if (!means_.cgroup_base.empty()) launch.cgroup = means_.cgroup_base + "/orrery-" + launch.token;
  run_as(means_.user, launch);
  Result<ShimProcess> shim = ShimProcess::start(means_.shim_program, run_folder, launch);
  if (!shim) return "isolation " + key + ": " + shim.errors()[0].text();
  runs_.emplace(key, Run{std::move(shim).value(), deadline});
  return std::nullopt;
}

void Environments::look(const std::vector<int>& readable, Instant now) {
  ProcessScan scan;
  for (auto it = runs_.begin(); it != runs_.end();) {
    Run& run = it->second;
    std::vector<pollfd> own;
    run.shim.append_descriptors(own);
    const bool woken = std::ranges::any_of(
        own, [&](const pollfd& each) { return std::ranges::binary_search(readable, each.fd); });
    run.shim.look(woken, scan);
    if (const auto& status = run.shim.end()) {
      end(it->first, run, *status);
      it = runs_.erase(it);
      continue;
    }
    if (now >= run.deadline) {
      run.late = true;
      run.deadline = now + Duration::seconds(5);
      run.shim.kill();
    }
    ++it;
  }
}

void Environments::end(const std::string& key, const Run& run, const WorkerStatus& status) {
  const std::string run_folder = means_.preparing + "/" + key;
  if (!run.late && status.kind == EndKind::Exited && status.exit_code == 0) {
    replace_file(means_.prepared + "/" + key, "", Survives::PowerLoss);
    return;
  }
  std::string failure = "isolation " + key + ": its preparation ";
  if (run.late)
    failure += "took longer than its deadline";
  else if (status.kind == EndKind::Exited)
    failure += "ended with " + std::to_string(status.exit_code);
  else
    failure += "failed: " + status.reason;
  const std::string tail = read_file(run_folder + "/tail").value_or("");
  if (!tail.empty())
    failure += "; its last words: " + tail.substr(tail.size() - std::min(tail.size(), kShownBytes));
  failures_[key] = failure;
  remove_folder(run_folder);
  remove_folder(folder_of(key));
}

void Environments::append_descriptors(std::vector<pollfd>& polled) const {
  for (const auto& [key, run] : runs_) run.shim.append_descriptors(polled);
}

bool Environments::must_be_polled() const {
  return std::ranges::any_of(runs_,
                             [](const auto& entry) { return entry.second.shim.must_be_polled(); });
}

Instant Environments::next_deadline() const {
  Instant deadline = Instant::never();
  for (const auto& [key, run] : runs_) deadline = std::min(deadline, run.deadline);
  return deadline;
}

}  // namespace orrery::runtime
