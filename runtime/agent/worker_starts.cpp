#include "runtime/agent/worker_starts.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/hex.hpp"
#include "core/base/invariant.hpp"
#include "core/discovery/port_demand.hpp"
#include "runtime/agent/container_command.hpp"
#include "runtime/agent/membership_text.hpp"
#include "runtime/agent/port_claims.hpp"
#include "runtime/agent/volumes.hpp"
#include "runtime/security/authority.hpp"
#include "runtime/shim/cgroup.hpp"
#include "runtime/shim/lease_file.hpp"

namespace orrery::runtime {
namespace {

// Starts of one turn. A start takes a millisecond or ten, a lease some seconds.
constexpr Duration kStartsPerTurn = Duration::milliseconds(100);

// Shims that bring their workers up at the same time: more of them only wait for each other.
constexpr std::size_t kStartingMax = 64;

// Of what a worker shows to its callers; longer than any worker lives.
constexpr Duration kCallCertificateLasts = Duration::seconds(5 * 365 * 86400LL);

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
  return hex_of(bytes);
}

WorkerStarts::WorkerStarts(const AgentConfig& config,
                           const NodeState& state,
                           const Inventory& inventory,
                           const KnownJobs& jobs,
                           WorkerTable& table,
                           std::string shim_program,
                           std::optional<WorkerUser> user)
    : config_(config),
      state_(state),
      inventory_(inventory),
      jobs_(jobs),
      table_(table),
      user_(std::move(user)),
      cgroup_base_(find_cgroup_base()),
      environments_({state.path("environments"),
                     state.path("preparing"),
                     state.path("prepared"),
                     state.path("lease"),
                     std::move(shim_program),
                     cgroup_base_,
                     user_}) {}

std::optional<FailedStart> WorkerStarts::begin(const SpawnWorker& order) {
  const JobSpec* job = jobs_.spec(order.worker.job);
  if (job == nullptr || order.slot.role.index() >= job->roles.size())
    return FailedStart{order.worker, "its job was never told to this node"};
  const Status made = table_.make_folder(order);
  if (!made) return failed(order, made.errors());
  const IsolationSpec& isolation = job->roles[order.slot.role.index()].isolation;
  Environments::Standing standing{.ready = true};
  if (!isolation.key.empty()) standing = environments_.ask(isolation, boot_time());
  if (!standing.failure.empty()) return failed(order, standing.failure);
  if (standing.ready && may_start()) return start(order, *job);
  waiting_[order.worker] = order;
  return std::nullopt;
}

bool WorkerStarts::may_start() {
  if (room_ == 0) return false;  // A worker that becomes ready, or ends, brings the next turn.
  if (boot_time() >= turn_ends_) {
    held_up_ = true;
    return false;
  }
  --room_;
  return true;
}

void WorkerStarts::retell(const TellMembership& order) {
  const auto found = waiting_.find(order.worker);
  if (found == waiting_.end()) return;
  found->second.generation = order.generation;
  found->second.rank = order.rank;
  found->second.world_size = order.world_size;
}

std::vector<FailedStart> WorkerStarts::go_on(const std::vector<int>& readable, Instant now) {
  std::vector<FailedStart> out;
  turn_ends_ = now + kStartsPerTurn;
  room_ = kStartingMax - std::min(kStartingMax, table_.starting());
  held_up_ = false;
  environments_.look(readable, now);
  // One answer for all workers that wait for a key: a failure is reported once.
  std::map<std::string, Environments::Standing> standings;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const SpawnWorker order = it->second;
    const JobSpec* job = jobs_.spec(order.worker.job);
    std::optional<FailedStart> failure;
    if (job == nullptr) {
      failure = failed(order, "its job was forgotten while its environment was prepared");
    } else {
      const IsolationSpec& isolation = job->roles[order.slot.role.index()].isolation;
      if (!standings.contains(isolation.key))
        standings[isolation.key] = isolation.key.empty() ? Environments::Standing{.ready = true}
                                                         : environments_.ask(isolation, now);
      const Environments::Standing& standing = standings[isolation.key];
      if (standing.failure.empty() && (!standing.ready || !may_start())) {
        ++it;
        continue;
      }
      failure = standing.ready ? start(order, *job) : failed(order, standing.failure);
    }
    if (failure) out.push_back(*std::move(failure));
    it = waiting_.erase(it);
  }
  return out;
}

bool WorkerStarts::drop(const WorkerName& worker) {
  const auto found = waiting_.find(worker);
  if (found == waiting_.end()) return false;
  table_.never_started(found->second, "it was stopped before it was started");
  waiting_.erase(found);
  return true;
}

FailedStart WorkerStarts::failed(const SpawnWorker& order,
                                 const std::string& reason,
                                 std::int32_t exit_code) {
  table_.never_started(order, reason, exit_code);
  return {order.worker, reason, 0, exit_code};
}

void WorkerStarts::set_server_url(const std::string& url) {
  if (url == server_url_) return;
  server_url_ = url;
  for (const WorkerRecord& record : table_.records()) tell_server_url(record.name());
}

void WorkerStarts::tell_server_url(const WorkerName& worker) const {
  if (server_url_.empty()) return;
  replace_file(table_.folder_of(worker) + "/server_url", server_url_ + "\n", Survives::Kill, 0644);
}

// What the job asks for, or the agent's settings forbid, is the same at the next try.
FailedStart WorkerStarts::failed(const SpawnWorker& order, const Errors& errors) {
  const bool for_good = std::ranges::any_of(
      errors, [](const Error& error) { return error.code == ErrorCode::InvalidInput; });
  return failed(order, all_of(errors), for_good ? kCannotRun : 0);
}

std::optional<FailedStart> WorkerStarts::start(const SpawnWorker& order, const JobSpec& job) {
  const PortClaims ports = claim_ports(order.first_port, ports_of(job, order.slot.role));
  if (ports.busy != 0) {
    FailedStart refusal =
        failed(order,
               "port " + std::to_string(ports.busy) +
                   " of its own is in use by something else on this host; it is given another");
    refusal.busy_port = ports.busy;
    return refusal;
  }
  const std::string token = std::string(kWorkerTokenPrefix) + random_token() + random_token();
  const Result<WorkerLaunch> launch = launch_of(order, job, token);
  if (!launch) return failed(order, launch.errors());
  if (const Members* members = jobs_.members(order.worker.job))
    replace_file(table_.folder_of(order.worker) + "/membership.json",
                 membership_text(record_of(order), job, *members) + "\n",
                 Survives::Kill,
                 0644);
  tell_server_url(order.worker);
  const WorkerName& name = order.worker;
  if (tell_token_) tell_token_({name.job, name.incarnation, name.birth_rank, token, 0, {}});
  const Status started = table_.start(order, *launch, token, ports.held);
  if (!started) return failed(order, started.errors());
  return std::nullopt;
}

Result<WorkerLaunch> WorkerStarts::launch_of(const SpawnWorker& order,
                                             const JobSpec& job,
                                             const std::string& token) {
  const RoleSpec& role = job.roles[order.slot.role.index()];
  const std::string work = table_.folder_of(order.worker) + "/work";
  WorkerLaunch launch;
  launch.token = random_token();
  launch.lease_file = state_.path("lease");
  launch.log_size = config_.log_size.count;
  launch.log_files = config_.log_files;
  if (!cgroup_base_.empty()) launch.cgroup = cgroup_base_ + "/orrery-" + launch.token;
  run_as(user_, launch);
  if (launch.as_user && !give_to(*user_, work))
    return Error{ErrorCode::Unavailable, {}, 0, work, "it cannot be given to the workers' user"};
  launch.working_directory = work;
  if (!role.working_directory.empty())
    launch.working_directory = role.working_directory.front() == '/'
                                   ? role.working_directory
                                   : work + "/" + role.working_directory;
  const Status told = add_environment(order, job, token, launch);
  if (!told) return told.errors();
  add_command(order, role, launch);
  const Status mounted = add_volumes(order, role, launch);
  if (!mounted) return mounted.errors();
  return launch;
}

Status WorkerStarts::add_environment(const SpawnWorker& order,
                                     const JobSpec& job,
                                     const std::string& token,
                                     WorkerLaunch& launch) {
  const IsolationSpec& isolation = job.roles[order.slot.role.index()].isolation;
  Surroundings around;
  around.server_url = server_url_;
  around.vendor = inventory_.vendor;
  around.devices = static_cast<std::int32_t>(inventory_.devices.size());
  if (!inventory_.devices.empty()) around.device_model = inventory_.devices.front().model;
  std::span<const WorkerStart> workers;
  if (const Members* members = jobs_.members(order.worker.job)) {
    around.addresses = addresses_of(*members);
    if (members->generation == order.generation) {
      workers = members->workers;
      around.restarts = members->restarts;
    }
  }
  around.overrides = {{"ORRERY_SOCKET", state_.path("socket")},
                      {"ORRERY_WORKER", folder_name_of(order.worker)},
                      {"ORRERY_MEMBERSHIP", table_.folder_of(order.worker) + "/membership.json"},
                      {"ORRERY_SERVER_URL_FILE", table_.folder_of(order.worker) + "/server_url"},
                      {"ORRERY_TOKEN", token},
                      {kTokenVariable, launch.token}};
  if (config_.tls.is_set()) {
    // A copy of its own: the agent's may lie where the workers' user cannot look.
    const std::string ca = table_.folder_of(order.worker) + "/ca.pem";
    const std::optional<std::string> text = read_file(config_.tls.ca);
    if (text && replace_file(ca, *text, Survives::Kill, 0644))
      around.overrides.push_back({"ORRERY_CA", ca});
  }
  if (!server_url_.empty()) around.overrides.push_back({"ORRERY_SERVER_URL", server_url_});
  Status calls = add_call_place(order, launch, around);
  if (!calls) return calls.errors();
  if (!isolation.key.empty()) {
    const std::string folder = environments_.folder_of(isolation.key);
    around.overrides.push_back({"ORRERY_ENVIRONMENT", folder});
    around.overrides.push_back({"PATH", folder + "/bin"});
    around.overrides.push_back({"VIRTUAL_ENV", folder});
  }
  if (launch.as_user) {
    around.overrides.push_back({"HOME", user_->home});
    if (!user_->name.empty()) around.overrides.push_back({"USER", user_->name});
  }
  Result<std::vector<std::string>> environment = environment_of(order, job, workers, around);
  if (!environment) return environment.errors();
  launch.environment = std::move(environment).value();
  return Done{};
}

/// Where the worker takes calls, and what it shows there; docs/calls.md.
Status WorkerStarts::add_call_place(const SpawnWorker& order,
                                    const WorkerLaunch& launch,
                                    Surroundings& around) {
  around.overrides.push_back({"ORRERY_CALL_ADDRESS", config_.address});
  if (!config_.tls.is_set()) return Done{};
  Result<KeyPair> shown = make_own_certificate({Instant{wall_clock()}, kCallCertificateLasts});
  if (!shown) return shown.errors();
  const std::string file = table_.folder_of(order.worker) + "/call.pem";
  if (!replace_file(file, shown->certificate + shown->key, Survives::Kill, 0600) ||
      (launch.as_user && !give_to(*user_, file)))
    return Error{ErrorCode::Unavailable, {}, 0, file, "it cannot be written for the worker"};
  around.overrides.push_back({"ORRERY_CALL_CERTIFICATE", file});
  return Done{};
}

void WorkerStarts::add_command(const SpawnWorker& order,
                               const RoleSpec& role,
                               WorkerLaunch& launch) {
  launch.command = role.command;
  const NodeProgram* here = role.process->program_of(
      static_cast<std::int32_t>(state_.record().node.value), order.slot.local_rank);
  if (here != nullptr && !here->interpreter.empty() && !launch.command.empty())
    launch.command.front() = here->interpreter;
  const IsolationSpec& isolation = role.isolation;
  if (!isolation.key.empty() && !isolation.interpreter.empty()) {
    const bool absolute = isolation.interpreter.front() == '/';
    launch.command.insert(
        launch.command.begin(),
        absolute ? isolation.interpreter
                 : environments_.folder_of(isolation.key) + "/" + isolation.interpreter);
  }
  if (role.image.empty()) return;
  if (config_.container_runtime.empty()) {
    warnings_.push_back({order.worker,
                         "role " + role.name + " asks for image " + role.image +
                             ", but its node has no container_runtime: its command runs on the "
                             "host"});
    return;
  }
  launch.command = container_command({config_.container_runtime,
                                      role.image,
                                      table_.folder_of(order.worker),
                                      state_.path("socket")},
                                     launch);
}

Status WorkerStarts::add_volumes(const SpawnWorker& order,
                                 const RoleSpec& role,
                                 WorkerLaunch& launch) {
  if (role.volumes.empty()) return Done{};
  Result<std::vector<Volume>> volumes = find_volumes(role.volumes, config_.volume_roots);
  if (!volumes) return volumes.errors();
  const VolumePlaces places{table_.folder_of(order.worker) + "/work",
                            jobs_.volumes_of(order.worker.job),
                            may_mount(),
                            !launch.as_user};
  if (const JobSpec* spec = jobs_.spec(order.worker.job); spec != nullptr) {
    const Status written = write_job_files(spec->files.items(), *volumes, places.job);
    if (!written) return written.errors();
  }
  if (!role.image.empty() && !config_.container_runtime.empty()) {
    const Status made = make_job_folders(*volumes, places.job, false);
    if (!made) return made.errors();
    add_container_volumes(*volumes, places.work, launch);
    return Done{};
  }
  std::vector<std::string> notices;
  Result<std::vector<BindMount>> mounts = place_volumes(std::move(*volumes), places, notices);
  if (!mounts) return mounts.errors();
  for (std::string& notice : notices) warnings_.push_back({order.worker, std::move(notice)});
  launch.mounts = std::move(mounts).value();
  return Done{};
}

}  // namespace orrery::runtime
