#include "runtime/agent/worker_table.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <utility>

#include "core/base/invariant.hpp"
#include "runtime/shim/lease_file.hpp"
#include "runtime/shim/stored_record.hpp"

namespace orrery::runtime {
namespace {

Error table_refused(const std::string& subject, const char* what) {
  return {ErrorCode::Unavailable, {}, 0, subject, std::string(what) + ": " + std::strerror(errno)};
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

WorkerTable::WorkerTable(std::string folder, std::string shim_program, const FolderLimits& limits)
    : folder_(std::move(folder)),
      shim_program_(std::move(shim_program)),
      limits_(limits),
      removals_(folder_ + "/removed") {}

std::string WorkerTable::path_of(const WorkerName& worker) const {
  return folder_ + "/" + folder_name_of(worker);
}

WorkerTable::Found WorkerTable::adopt(
    const std::function<bool(const WorkerRecord&)>& waits_for_hello) {
  Found found;
  std::vector<WorkerName> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored))
    if (const auto name = worker_named(entry.path().filename().string())) names.push_back(*name);
  std::ranges::sort(names);
  ProcessScan scan;
  for (const WorkerName& name : names) adopt_folder(name, waits_for_hello, found, scan);
  const auto age = [](const Kept& kept) { return kept.since; };
  std::ranges::stable_sort(ended_, {}, age);
  std::ranges::stable_sort(cleaned_, {}, age);
  forget_replaced(found);
  found.strays = end_strays();
  return found;
}

/// Kills what runs of workers whose folders are gone: nobody knows of these, so that their ranks
/// would run a second time elsewhere. Returns how many there were; not before nothing is found, but
/// for what the kernel does not let go within five seconds.
std::size_t WorkerTable::end_strays() const {
  // A look can miss a process that is made meanwhile. The kernel may not let one go.
  constexpr int kClearLooks = 3;
  constexpr int kLooksMax = 1000;
  constexpr timespec kMoment{0, 5'000'000};
  std::set<std::string> ended;  // By name of folder.
  for (int looks = 0, clear = 0; looks < kLooksMax && clear < kClearLooks; ++looks) {
    ++clear;
    for (const MarkedProcess& found : ProcessScan().of_workers_in(folder_)) {
      const std::string rest = found.home.substr(folder_.size() + 1);
      const std::string name = rest.substr(0, rest.find('/'));
      if (exists(folder_ + "/" + name + "/agent")) continue;
      clear = 0;
      ended.insert(name);
      send_signal(found.process, SIGKILL);
    }
    if (ended.empty()) break;
    nanosleep(&kMoment, nullptr);
  }
  return ended.size();
}

void WorkerTable::adopt_folder(const WorkerName& worker,
                               const std::function<bool(const WorkerRecord&)>& waits_for_hello,
                               Found& found,
                               ProcessScan& scan) {
  const std::string path = path_of(worker);
  const auto record = restored<WorkerRecord>(read_file(path + "/agent").value_or(""));
  const auto status = restored<WorkerStatus>(read_file(path + "/status").value_or(""));
  if (!record || record->name() != worker) return removals_.take(path);
  if (status) {
    const bool cleaned = exists(path + "/cleaned");
    (cleaned ? cleaned_ : ended_).push_back({worker, status->ended_at});
    if (!cleaned) found.ended.push_back(ended_of(*record, *status));
    return;
  }
  std::optional<ShimProcess> shim = ShimProcess::adopt(path, scan);
  if (!shim) return removals_.take(path);  // Its shim was never started: the spec comes before it.
  const bool runs = shim->is_ready();
  const bool is_ready = runs && (record->said_hello || !waits_for_hello(*record));
  AgentWorkerState state = is_ready ? AgentWorkerState::Ready : AgentWorkerState::Starting;
  // Its end follows as soon as nothing of it is left.
  if (shim->is_clearing() || shim->end()) state = AgentWorkerState::Killed;
  living_.emplace(worker, Living{*record, *std::move(shim), runs});
  found.living.push_back(worker_of(*record, state));
}

/// The end of an older start of a slot is of no use any more.
void WorkerTable::forget_replaced(Found& found) {
  const auto is_replaced = [&](const EndedWorker& ended) {
    const auto newer = [&](const auto& other) {
      return other.name.job == ended.name.job && comes_after(other, ended);
    };
    return std::ranges::any_of(found.living, newer) || std::ranges::any_of(found.ended, newer);
  };
  std::vector<EndedWorker> kept;
  for (const EndedWorker& ended : found.ended)
    if (!is_replaced(ended)) kept.push_back(ended);
  found.ended = std::move(kept);
}

Status WorkerTable::make_folder(const SpawnWorker& order) {
  const std::string path = path_of(order.worker);
  invariant(!living_.contains(order.worker), "a worker is started once");
  if (exists(path + "/status")) removals_.take(path);  // Of a worker that everybody has forgotten.
  if (mkdir(path.c_str(), 0711) != 0 || mkdir((path + "/work").c_str(), 0755) != 0)
    return table_refused(path, "it cannot be made");
  // Enough to tell its end, should this life end before the worker is started.
  if (!replace_file(path + "/agent", stored(record_of(order)), Survives::Kill))
    return table_refused(path, "it cannot be written");
  return Done{};
}

Status WorkerTable::start(const SpawnWorker& order,
                          const WorkerLaunch& launch,
                          const std::string& token,
                          std::span<const Descriptor> kept) {
  // While it waited it may have been given another place than its folder was made with.
  const std::string path = path_of(order.worker);
  WorkerRecord record = record_of(order);
  record.token = token;
  if (!replace_file(path + "/agent", stored(record), Survives::Kill))
    return table_refused(path, "it cannot be written");
  Result<ShimProcess> shim = ShimProcess::start(shim_program_, path, launch, kept);
  if (!shim) return shim.errors();
  living_.emplace(order.worker, Living{std::move(record), std::move(shim).value()});
  return Done{};
}

void WorkerTable::never_started(const SpawnWorker& order,
                                const std::string& reason,
                                std::int32_t exit_code) {
  WorkerStatus status;
  status.kind = EndKind::NotStarted;
  status.exit_code = exit_code;
  status.reason = reason;
  status.ended_at = wall_clock();
  const std::string path = path_of(order.worker);
  if (!exists(path)) return;
  // While it waited it may have been told another membership than its folder was made with.
  replace_file(path + "/agent", stored(record_of(order)), Survives::Kill);
  replace_file(path + "/status", stored(status), Survives::Kill);
  ended_.push_back({order.worker, status.ended_at});
}

void WorkerTable::signal(const SignalWorker& order) {
  const auto found = living_.find(order.worker);
  if (found == living_.end()) return;
  if (order.signal == WorkerSignal::Ask)
    found->second.shim.ask();
  else
    found->second.shim.kill();
}

void WorkerTable::signal_all(WorkerSignal signal_of_all) {
  for (const auto& [name, worker] : living_) signal({name, signal_of_all});
}

bool WorkerTable::is_stuck(const WorkerName& worker) const {
  const auto found = living_.find(worker);
  if (found == living_.end()) return false;
  ProcessScan scan;
  return found->second.shim.is_stuck(scan);
}

void WorkerTable::told(const TellMembership& order, const WorkerSlot& slot) {
  const auto found = living_.find(order.worker);
  if (found == living_.end()) return;
  WorkerRecord& record = found->second.record;
  record.generation = order.generation;
  record.rank = order.rank;
  record.world_size = order.world_size;
  record.role = slot.role;
  record.local_rank = slot.local_rank;
  replace_file(path_of(order.worker) + "/agent", stored(record), Survives::Kill);
}

bool WorkerTable::said_hello(const WorkerName& worker) {
  const auto found = living_.find(worker);
  if (found == living_.end() || found->second.record.said_hello) return false;
  found->second.record.said_hello = true;
  replace_file(path_of(worker) + "/agent", stored(found->second.record), Survives::Kill);
  return true;
}

const WorkerRecord* WorkerTable::takes_calls(const WorkerName& worker,
                                             std::int32_t port,
                                             const std::string& certificate) {
  const auto found = living_.find(worker);
  if (found == living_.end()) return nullptr;
  WorkerRecord& record = found->second.record;
  if (record.call_port == port && record.call_certificate == certificate) return &record;
  record.call_port = port;
  record.call_certificate = certificate;
  replace_file(path_of(worker) + "/agent", stored(record), Survives::Kill);
  return &record;
}

void WorkerTable::has_turn(const WorkerName& worker, bool has) {
  const auto found = living_.find(worker);
  if (found == living_.end() || found->second.record.has_turn == has) return;
  found->second.record.has_turn = has;
  replace_file(path_of(worker) + "/agent", stored(found->second.record), Survives::Kill);
}

void WorkerTable::diagnosed(const WorkerName& worker, const Diagnosis& diagnosis) {
  const auto found = living_.find(worker);
  if (found == living_.end() || *found->second.record.diagnosis == diagnosis) return;
  found->second.record.diagnosis = diagnosis;
  replace_file(path_of(worker) + "/agent", stored(found->second.record), Survives::Kill);
}

void WorkerTable::look(const std::vector<int>& readable) {
  ProcessScan scan;
  for (auto& [name, worker] : living_) {
    std::vector<pollfd> own;
    worker.shim.append_descriptors(own);
    const bool woken = std::ranges::any_of(
        own, [&](const pollfd& each) { return std::ranges::binary_search(readable, each.fd); });
    worker.shim.look(woken, scan);
  }
}

std::size_t WorkerTable::starting() const {
  return static_cast<std::size_t>(std::ranges::count_if(living_, [](const auto& entry) {
    return !entry.second.told_ready && !entry.second.shim.end();
  }));
}

std::vector<WorkerRecord> WorkerTable::take_ready() {
  std::vector<WorkerRecord> out;
  for (auto& [name, worker] : living_) {
    if (worker.told_ready || !worker.shim.is_ready()) continue;
    worker.told_ready = true;
    out.push_back(worker.record);
  }
  return out;
}

bool WorkerTable::has_ends() const {
  return std::ranges::any_of(living_,
                             [](const auto& entry) { return entry.second.shim.end().has_value(); });
}

std::vector<WorkerEnd> WorkerTable::take_ends() {
  std::vector<WorkerEnd> out;
  for (auto it = living_.begin(); it != living_.end();) {
    const std::optional<WorkerStatus>& end = it->second.shim.end();
    if (!end) {
      ++it;
      continue;
    }
    out.push_back({it->second.record, *end});
    keep_record(it->second.record);
    const bool cleaned = exists(path_of(it->first) + "/cleaned");
    (cleaned ? cleaned_ : ended_).push_back({it->first, end->ended_at});
    it = living_.erase(it);
  }
  return out;
}

/// A folder that was made anew lacks it.
void WorkerTable::keep_record(const WorkerRecord& record) {
  const std::string path = path_of(record.name()) + "/agent";
  if (!exists(path)) replace_file(path, stored(record), Survives::Kill);
}

void WorkerTable::append_descriptors(std::vector<pollfd>& polled) const {
  for (const auto& [name, worker] : living_) worker.shim.append_descriptors(polled);
}

bool WorkerTable::must_be_polled() const {
  return std::ranges::any_of(living_,
                             [](const auto& entry) { return entry.second.shim.must_be_polled(); });
}

std::vector<WorkerRecord> WorkerTable::records() const {
  std::vector<WorkerRecord> out;
  for (const auto& [name, worker] : living_) out.push_back(worker.record);
  return out;
}

const WorkerRecord* WorkerTable::record(const WorkerName& worker) const {
  const auto found = living_.find(worker);
  return found == living_.end() ? nullptr : &found->second.record;
}

bool WorkerTable::has_job(JobId job) const {
  return std::ranges::any_of(living_, [&](const auto& entry) { return entry.first.job == job; });
}

void WorkerTable::clean(JobId job) {
  for (const auto& [name, worker] : living_)
    if (name.job == job) mark_cleaned(name);
  for (auto it = ended_.begin(); it != ended_.end();) {
    if (it->worker.job != job) {
      ++it;
      continue;
    }
    mark_cleaned(it->worker);
    cleaned_.push_back(*it);
    it = ended_.erase(it);
  }
}

void WorkerTable::mark_cleaned(const WorkerName& worker) {
  const Descriptor file(
      open((path_of(worker) + "/cleaned").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

void WorkerTable::collect(std::int64_t now) {
  const auto remove_oldest = [&](std::deque<Kept>& kept) {
    remove(kept.front().worker);
    kept.pop_front();
  };
  while (ended_.size() > limits_.ended_max) remove_oldest(ended_);
  while (!cleaned_.empty() && (cleaned_.size() > limits_.cleaned_max ||
                               now - cleaned_.front().since > limits_.cleaned_age.ns))
    remove_oldest(cleaned_);
}

void WorkerTable::remove(const WorkerName& worker) {
  if (!living_.contains(worker)) removals_.take(path_of(worker));
}

void WorkerTable::forget_all() {
  invariant(living_.empty(), "folders of the living stay");
  for (const std::deque<Kept>* kept : {&ended_, &cleaned_})
    for (const Kept& each : *kept) remove(each.worker);
  ended_.clear();
  cleaned_.clear();
}

std::optional<WorkerName> WorkerTable::predecessor_of(const WorkerName& worker,
                                                      RoleIndex role,
                                                      std::int32_t local_rank) const {
  std::optional<WorkerName> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    const auto name = worker_named(entry.path().filename().string());
    if (!name || name->job != worker.job || name->incarnation >= worker.incarnation) continue;
    if (out && name->incarnation < out->incarnation) continue;
    const auto record =
        restored<WorkerRecord>(read_file(entry.path().string() + "/agent").value_or(""));
    if (record && record->role == role && record->local_rank == local_rank) out = name;
  }
  return out;
}

std::string WorkerTable::folder_of(const WorkerName& worker) const {
  const std::string path = path_of(worker);
  return exists(path + "/agent") ? path : std::string();
}

}  // namespace orrery::runtime
