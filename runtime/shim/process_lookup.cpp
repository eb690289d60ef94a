#include "runtime/shim/process_lookup.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <ctime>
#include <string_view>

#include "core/base/number_text.hpp"
#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {
namespace {

/// The fields of /proc/PID/stat that matter here.
struct ProcessRow {
  ProcessId id;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;

  bool lives() const { return state != 'Z' && state != 'X' && state != 'x'; }
};

std::optional<ProcessRow> row_of(pid_t pid) {
  const std::optional<std::string> stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat) return std::nullopt;
  // The program's name stands in brackets and may hold anything, brackets too.
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat->size()) return std::nullopt;
  ProcessRow row;
  row.id.pid = pid;
  row.state = (*stat)[name_end + 2];
  const char* at = stat->data() + name_end + 3;
  const char* const end = stat->data() + stat->size();
  // Fields 4 to 22: parent, group, session, ..., start time.
  for (int field = 4; field <= 22; ++field) {
    while (at < end && *at == ' ') ++at;
    long long value = 0;
    const auto [after, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) return std::nullopt;
    at = after;
    if (field == 4) row.parent = static_cast<pid_t>(value);
    if (field == 5) row.group = static_cast<pid_t>(value);
    if (field == 6) row.session = static_cast<pid_t>(value);
    if (field == 22) row.id.started = static_cast<std::uint64_t>(value);
  }
  return row;
}

std::vector<pid_t> all_numbers() {
  std::vector<pid_t> out;
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return out;
  while (const dirent* entry = readdir(folder)) {
    if (const std::optional<pid_t> pid = parsed_number<pid_t>(entry->d_name)) out.push_back(*pid);
  }
  closedir(folder);
  return out;
}

std::vector<ProcessRow> all_living() {
  std::vector<ProcessRow> out;
  for (const pid_t pid : all_numbers()) {
    const std::optional<ProcessRow> row = row_of(pid);
    if (row && row->lives()) out.push_back(*row);
  }
  return out;
}

std::optional<std::string> environment_of(pid_t pid) {
  return read_file("/proc/" + std::to_string(pid) + "/environ");
}

// Of a shim: the folder of its worker.
std::string first_argument_of(pid_t pid) {
  const std::string line =
      read_file("/proc/" + std::to_string(pid) + "/cmdline").value_or(std::string());
  const std::size_t begin = line.find('\0');
  if (begin == line.npos) return {};
  return line.substr(begin + 1, line.find('\0', begin + 1) - begin - 1);
}

// A thread of the kernel has none.
bool is_program(pid_t pid) {
  char program;
  return readlink(("/proc/" + std::to_string(pid) + "/exe").c_str(), &program, 1) > 0;
}

int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

std::optional<ProcessId> process_at(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const std::optional<ProcessRow> row = row_of(pid);
  if (!row || !row->lives()) return std::nullopt;
  return row->id;
}

bool is_alive(const ProcessId& process) { return process_at(process.pid) == process; }

bool says_doomed(const std::string& status) {
  const auto value_of = [&](const std::string& key) {
    const std::size_t at = status.find("\n" + key + ":\t");
    return at == std::string::npos ? std::string() : status.substr(at + key.size() + 3, 16);
  };
  const std::string state = value_of("State");
  if (!state.empty() && (state.front() == 'Z' || state.front() == 'X')) return true;
  for (const char* pending : {"SigPnd", "ShdPnd"}) {
    const std::string digits = value_of(pending);
    std::uint64_t signals = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), signals, 16);
    if (error == std::errc{} && (signals >> (SIGKILL - 1) & 1) != 0) return true;
  }
  return false;
}

bool is_doomed(const ProcessId& process) {
  if (!is_alive(process)) return false;
  const std::string folder = "/proc/" + std::to_string(process.pid) + "/task";
  DIR* const threads = opendir(folder.c_str());
  if (threads == nullptr) return false;
  bool doomed = true;
  while (const dirent* entry = readdir(threads)) {
    if (entry->d_name[0] == '.') continue;
    const auto status = read_file(folder + "/" + entry->d_name + "/status");
    doomed = doomed && status && says_doomed(*status);
  }
  closedir(threads);
  return doomed && is_alive(process);
}

int open_exit_descriptor(const ProcessId& process) {
  Descriptor descriptor(open_pidfd(process.pid));
  // Looked at after opening: from here on the number cannot come to mean another process.
  if (!descriptor.is_open() || !is_alive(process)) return -1;
  return descriptor.release();
}

bool send_signal(const ProcessId& process, int signal_number) {
  const Descriptor descriptor(open_exit_descriptor(process));
  if (descriptor.is_open() &&
      syscall(SYS_pidfd_send_signal, descriptor.get(), signal_number, nullptr, 0) == 0)
    return true;
  return is_alive(process) && kill(process.pid, signal_number) == 0;
}

std::vector<ProcessId> descendants_of(pid_t ancestor) {
  const std::vector<ProcessRow> rows = all_living();
  std::vector<pid_t> family{ancestor};
  std::vector<ProcessId> out;
  for (std::size_t i = 0; i < family.size(); ++i) {
    for (const ProcessRow& row : rows) {
      if (row.parent != family[i]) continue;
      family.push_back(row.id.pid);
      out.push_back(row.id);
    }
  }
  return out;
}

void ProcessScan::look() {
  if (looked_) return;
  looked_ = true;
  std::vector<ProcessId> blank;
  for (const ProcessRow& row : all_living()) {
    members_.push_back({row.id, row.group, row.session});
    const std::optional<std::string> environment = environment_of(row.id.pid);
    if (!environment) continue;
    if (environment->empty() && is_program(row.id.pid)) blank.push_back(row.id);
    note_marks(row.id, *environment);
  }
  // In the middle of an exec a process has an environment that the system shows as empty.
  constexpr timespec kMoment{0, 1'000'000};
  constexpr int kMoments = 10;
  for (int moment = 0; moment < kMoments && !blank.empty(); ++moment) {
    nanosleep(&kMoment, nullptr);
    std::erase_if(blank, [&](const ProcessId& process) {
      const std::optional<std::string> environment = environment_of(process.pid);
      if (environment && environment->empty()) return false;
      if (environment && is_alive(process)) note_marks(process, *environment);
      return true;
    });
  }
}

void ProcessScan::note_marks(const ProcessId& process, std::string_view environment) {
  const std::string mark = std::string(kTokenVariable) + "=";
  const std::string membership = std::string(kMembershipVariable) + "=";
  std::vector<std::string_view> tokens;
  std::string home;
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view entry = environment.substr(0, end);
    if (entry.starts_with(mark)) tokens.push_back(entry.substr(mark.size()));
    if (entry.starts_with(membership)) home = entry.substr(membership.size());
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  if (tokens.empty()) return;
  if (home.empty()) home = first_argument_of(process.pid);
  for (const std::string_view token : tokens) marks_.emplace(token, MarkedProcess{process, home});
}

std::vector<ProcessId> ProcessScan::members_of(pid_t leader) {
  look();
  std::vector<ProcessId> out;
  for (const Member& each : members_)
    if (each.group == leader || each.session == leader) out.push_back(each.process);
  return out;
}

std::vector<ProcessId> ProcessScan::marked(const std::string& token) {
  look();
  std::vector<ProcessId> out;
  const auto [begin, end] = marks_.equal_range(token);
  for (auto it = begin; it != end; ++it) out.push_back(it->second.process);
  return out;
}

std::vector<MarkedProcess> ProcessScan::of_workers_in(const std::string& folder) {
  look();
  std::vector<MarkedProcess> out;
  for (const auto& [token, found] : marks_)
    if (found.home.starts_with(folder + "/")) out.push_back(found);
  return out;
}

}  // namespace orrery::runtime
