#include "runtime/agent/worker_starts.hpp"

#include <sys/random.h>

#include <array>
#include <utility>

#include "core/base/invariant.hpp"
#include "runtime/agent/membership_text.hpp"
#include "runtime/shim/cgroup.hpp"

namespace orrery::runtime {
namespace {

std::string all_of(const Errors& errors) {
  std::string out;
  for (const Error& error : errors) out += (out.empty() ? "" : "; ") + error.text();
  return out;
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  invariant(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
            "the system gives random bytes");
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

WorkerStarts::WorkerStarts(const AgentConfig& config,
                           const NodeState& state,
                           const Inventory& inventory,
                           const KnownJobs& jobs,
                           WorkerTable& table)
    : config_(config),
      state_(state),
      inventory_(inventory),
      jobs_(jobs),
      table_(table),
      cgroup_base_(find_cgroup_base()) {}

std::optional<FailedStart> WorkerStarts::begin(const SpawnWorker& order) {
  const JobSpec* job = jobs_.spec(order.worker.job);
  if (job == nullptr || order.slot.role.index() >= job->roles.size())
    return FailedStart{order.worker, "its job was never told to this node"};
  const auto failed = [&](const Errors& errors) {
    table_.never_started(order, all_of(errors));
    return FailedStart{order.worker, all_of(errors)};
  };
  const Status made = table_.make_folder(order);
  if (!made) return failed(made.errors());
  const Result<WorkerLaunch> launch = launch_of(order, *job);
  if (!launch) return failed(launch.errors());
  if (const Members* members = jobs_.members(order.worker.job))
    replace_file(table_.folder_of(order.worker) + "/membership.json",
                 membership_text(record_of(order), *job, *members) + "\n",
                 Survives::Kill,
                 0644);
  const Status started = table_.start(order, *launch);
  if (!started) return failed(started.errors());
  return std::nullopt;
}

Result<WorkerLaunch> WorkerStarts::launch_of(const SpawnWorker& order, const JobSpec& job) {
  const RoleSpec& role = job.roles[order.slot.role.index()];
  const std::string folder = table_.folder_of(order.worker);
  WorkerLaunch launch;
  launch.token = random_token();
  launch.lease_file = state_.path("lease");
  launch.log_size = config_.log_size.count;
  launch.log_files = config_.log_files;
  if (!cgroup_base_.empty()) launch.cgroup = cgroup_base_ + "/orrery-" + launch.token;
  launch.command = role.command;
  launch.working_directory = folder + "/work";
  if (!role.working_directory.empty())
    launch.working_directory = role.working_directory.front() == '/'
                                   ? role.working_directory
                                   : launch.working_directory + "/" + role.working_directory;

  Surroundings around;
  around.server_url = server_url_;
  around.vendor = inventory_.vendor;
  if (!inventory_.devices.empty()) around.device_model = inventory_.devices.front().model;
  std::span<const WorkerStart> workers;
  if (const Members* members = jobs_.members(order.worker.job)) {
    around.addresses = addresses_of(*members);
    if (members->generation == order.generation) workers = members->workers;
  }
  around.overrides = {{"ORRERY_SOCKET", state_.path("socket")},
                      {"ORRERY_WORKER", folder_name_of(order.worker)},
                      {"ORRERY_MEMBERSHIP", folder + "/membership.json"},
                      {kTokenVariable, launch.token}};
  if (!server_url_.empty()) around.overrides.push_back({"ORRERY_SERVER_URL", server_url_});
  Result<std::vector<std::string>> environment = environment_of(order, job, workers, around);
  if (!environment) return environment.errors();
  launch.environment = std::move(environment).value();
  return launch;
}

}  // namespace orrery::runtime
