// Many hollow agents against one controller: what heartbeats cost it, whether it loses nodes
// falsely, and how fast it starts replicas.

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tools/bench/hollow/fleet.hpp"
#include "tools/bench/hollow/fleet_counters.hpp"
#include "tools/bench/hollow/measured_controller.hpp"
#include "tools/bench/hollow/process_cost.hpp"

namespace orrery::bench {
namespace {

constexpr const char* kUsage =
    "usage: bench_hollow [--agents N] [--processes N] [--connections N] [--seconds S] [--ramp S]\n"
    "                    [--replicas N] [--per-job N] [--transport] [--restart]\n"
    "                    [--controller ADDR --pid PID] [--jobs N] [--forecaster PROGRAM]\n"
    "\n"
    "Connects N hollow agents (the real state machine, no workers) from processes of their own, "
    "and\n"
    "measures S seconds of heartbeats. The controller is one of this program, with its journal in "
    "a\n"
    "temporary folder; with --transport one that only answers; with --controller another process.\n"
    "With --replicas, jobs with so many replicas together are submitted to it afterwards; with\n"
    "--restart it ends and begins anew, and all agents come back at once. With --jobs N jobs of\n"
    "one device are submitted just before heartbeats are measured, and with --forecaster\n"
    "(orrery-node) they are forecast all the time meanwhile. Prints one line of JSON;\n"
    "fails if an agent lost its lease or a replica did not start.\n";

struct Options {
  int agents = 10'000;
  int processes = 4;
  int connections = 16;
  int seconds = 60;
  int ramp = 10;
  int replicas = 0;
  int per_job = 100;
  bool transport = false;
  bool restart = false;
  std::string controller;
  std::string forecaster;
  int jobs = 0;
  int pid = 0;
};

/// The sum over all processes.
struct Sum {
  std::int64_t connected = 0;
  std::int64_t leased = 0;
  std::uint64_t registered = 0;
  std::uint64_t beats = 0;
  std::uint64_t renewals = 0;
  std::uint64_t leases_lost = 0;
  std::uint64_t closed = 0;
  std::uint64_t refused = 0;
  std::uint64_t spawned = 0;
  std::array<std::uint64_t, DurationBuckets::kCount> renewal_after{};
};

/// Hollow agents in processes of their own. They end with this one, whatever becomes of it.
class Fleets {
 public:
  explicit Fleets(const Options& options) : options_(options) {
    const auto count = static_cast<std::size_t>(options.processes);
    void* const shared = mmap(nullptr,
                              sizeof(FleetCounters) * count,
                              PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS,
                              -1,
                              0);
    if (shared == MAP_FAILED || pipe(orders_) != 0) std::abort();
    counters_ = static_cast<FleetCounters*>(shared);
    for (std::size_t i = 0; i < count; ++i) new (&counters_[i]) FleetCounters;
  }

  /// Before any thread: they wait for `begin`.
  void fork_all() {
    const int each = options_.agents / options_.processes;
    for (int i = 0; i < options_.processes; ++i) {
      const bool last = i + 1 == options_.processes;
      const int first = i * each;
      const pid_t child = fork();
      if (child == 0) live(i, first, last ? options_.agents - first : each);
      children_.push_back(child);
    }
    close(orders_[0]);
  }

  void begin(const std::string& address) {
    for (int i = 0; i < options_.processes; ++i) {
      char line[512] = {};
      std::strncpy(line, address.c_str(), sizeof line - 1);
      if (write(orders_[1], line, sizeof line) != sizeof line) std::abort();
    }
  }

  void end() {
    for (const pid_t child : children_) kill(child, SIGTERM);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
  }

  Sum sum() const {
    Sum out;
    for (int i = 0; i < options_.processes; ++i) {
      const FleetCounters& each = counters_[i];
      out.connected += each.connected;
      out.leased += each.leased;
      out.registered += each.registered;
      out.beats += each.beats;
      out.renewals += each.renewals;
      out.leases_lost += each.leases_lost;
      out.closed += each.closed;
      out.refused += each.refused;
      out.spawned += each.spawned;
      for (std::size_t j = 0; j < out.renewal_after.size(); ++j)
        out.renewal_after[j] += each.renewal_after.counts[j];
    }
    return out;
  }

  double cpu_s() const {
    double sum = 0;
    for (const pid_t child : children_) sum += cost_of(child).value_or(ProcessCost{}).cpu_s;
    return sum;
  }

 private:
  [[noreturn]] void live(int process, int first, int count) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, [](int) { std::_Exit(0); });
    char line[512] = {};
    if (read(orders_[0], line, sizeof line) != sizeof line) std::_Exit(0);
    FleetOptions options;
    options.controller = line;
    options.first = first;
    options.count = count;
    options.connections = std::max(1, options_.connections / options_.processes);
    options.ramp = Duration::seconds(options_.ramp);
    Fleet fleet(options, counters_[process]);
    fleet.run([] { return false; });
    std::_Exit(0);
  }

  const Options& options_;
  FleetCounters* counters_ = nullptr;
  int orders_[2] = {-1, -1};
  std::vector<pid_t> children_;
};

/// Microseconds below which the given part of the renewals came, as a power of two.
std::uint64_t renewal_below_us(const Sum& before, const Sum& after, double part) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < after.renewal_after.size(); ++i)
    all += after.renewal_after[i] - before.renewal_after[i];
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < after.renewal_after.size(); ++i) {
    seen += after.renewal_after[i] - before.renewal_after[i];
    if (static_cast<double>(seen) >= part * static_cast<double>(all)) return std::uint64_t{1} << i;
  }
  return 0;
}

using Steady = std::chrono::steady_clock;

double seconds_since(Steady::time_point then) {
  return std::chrono::duration<double>(Steady::now() - then).count();
}

struct Measured {
  double connect_s = 0;
  double connect_cpu_s = 0;
  double wall_s = 0;
  ProcessCost before;
  ProcessCost after;
  ProcessCost idle;  ///< Of the controller before any agent connected.
  double fleet_cpu_s = 0;
  Sum sum_before;
  Sum sum_after;
  Sum sum_end;
  bool submitted = false;
  ReplicaStarts starts;
  double starts_cpu_s = 0;
  bool restarted = false;
  double restart_s = 0;
  std::uint64_t forecasts = 0;
  double registered_s = 0;
};

void progress(const char* what, const Fleets& fleets, Steady::time_point since) {
  const Sum sum = fleets.sum();
  std::fprintf(stderr,
               "\r%s %.0f s: %lld connected, %lld leased, %llu renewals, %llu leases lost, %llu "
               "closed, %llu spawned   ",
               what,
               seconds_since(since),
               static_cast<long long>(sum.connected),
               static_cast<long long>(sum.leased),
               static_cast<unsigned long long>(sum.renewals),
               static_cast<unsigned long long>(sum.leases_lost),
               static_cast<unsigned long long>(sum.closed),
               static_cast<unsigned long long>(sum.spawned));
}

std::string json_of(const Options& options, const Measured& m) {
  const double beats = static_cast<double>(m.sum_after.beats - m.sum_before.beats);
  const double cpu = m.after.cpu_s - m.before.cpu_s;
  std::string out = "{";
  const auto add = [&](const char* name, double value) {
    char text[128];
    std::snprintf(text, sizeof text, "%s\"%s\": %.6g", out.size() > 1 ? ", " : "", name, value);
    out += text;
  };
  add("agents", options.agents);
  add("connections", options.connections);
  add("connect_s", m.connect_s);
  add("connect_controller_cpu_s", m.connect_cpu_s);
  add("measured_s", m.wall_s);
  add("beats_per_s", beats / m.wall_s);
  add("renewals_per_s",
      static_cast<double>(m.sum_after.renewals - m.sum_before.renewals) / m.wall_s);
  add("controller_cores", cpu / m.wall_s);
  add("controller_us_per_beat", beats > 0 ? cpu * 1e6 / beats : 0);
  add("controller_resident_mib", static_cast<double>(m.after.resident_b) / (1 << 20));
  add("controller_kib_per_agent",
      static_cast<double>(m.after.resident_b - m.idle.resident_b) / 1024 / options.agents);
  add("controller_threads", m.after.threads);
  add("fleet_us_per_beat", beats > 0 ? m.fleet_cpu_s * 1e6 / beats : 0);
  add("renewal_p50_below_us",
      static_cast<double>(renewal_below_us(m.sum_before, m.sum_after, 0.5)));
  add("renewal_p99_below_us",
      static_cast<double>(renewal_below_us(m.sum_before, m.sum_after, 0.99)));
  add("renewal_max_below_us", static_cast<double>(renewal_below_us(m.sum_before, m.sum_after, 1)));
  if (!options.forecaster.empty()) add("forecasts", static_cast<double>(m.forecasts));
  add("leases_lost", static_cast<double>(m.sum_end.leases_lost));
  add("streams_closed", static_cast<double>(m.sum_end.closed));
  add("refusals", static_cast<double>(m.sum_end.refused));
  if (m.submitted) {
    add("replicas", m.starts.ready);
    add("replica_starts_s", m.starts.seconds);
    add("replica_starts_per_s", m.starts.ready / m.starts.seconds);
    add("replica_starts_controller_cpu_s", m.starts_cpu_s);
  }
  if (m.restarted) {
    add("restart_s", m.restart_s);
    add("restart_to_all_registered_s", m.registered_s);
  }
  return out + "}";
}

/// Waits until every agent holds a lease; false after ten minutes.
bool wait_for_all(const Options& options, const Fleets& fleets, Steady::time_point since) {
  while (fleets.sum().leased < options.agents) {
    if (seconds_since(since) > 600) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    progress("connecting", fleets, since);
  }
  std::fprintf(stderr, "\n");
  return true;
}

int run(const Options& options) {
  Fleets fleets(options);
  fleets.fork_all();
  std::unique_ptr<MeasuredController> controller;
  if (options.controller.empty())
    controller = options.transport ? make_answering_controller() : make_whole_controller();
  const pid_t process = options.controller.empty() ? getpid() : options.pid;
  const auto cost = [&] { return cost_of(process).value_or(ProcessCost{}); };

  Measured m;
  m.idle = cost();
  const Steady::time_point start = Steady::now();
  fleets.begin(controller ? controller->address() : options.controller);
  if (!wait_for_all(options, fleets, start)) {
    std::fprintf(stderr, "\nnot all agents got a lease in ten minutes\n");
    fleets.end();
    return 1;
  }
  m.connect_s = seconds_since(start);
  m.connect_cpu_s = cost().cpu_s - m.idle.cpu_s;
  // Two periods of heartbeats, so that nothing of the connecting is measured.
  std::this_thread::sleep_for(std::chrono::seconds(std::min(options.seconds, 4)));

  if (controller) controller->submit_jobs(options.jobs);
  if (!options.forecaster.empty() && controller)
    if (!controller->forecast(options.forecaster)) return 2;
  m.before = cost();
  const std::uint64_t forecasts_before = controller ? controller->forecasts() : 0;
  m.sum_before = fleets.sum();
  const double fleet_before = fleets.cpu_s();
  const Steady::time_point measured_from = Steady::now();
  while (seconds_since(measured_from) < options.seconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    progress("measuring", fleets, measured_from);
  }
  std::fprintf(stderr, "\n");
  m.after = cost();
  m.forecasts = controller ? controller->forecasts() - forecasts_before : 0;
  m.sum_after = fleets.sum();
  m.wall_s = seconds_since(measured_from);
  m.fleet_cpu_s = fleets.cpu_s() - fleet_before;

  if (options.replicas > 0 && controller) {
    m.submitted = true;
    const double before = cost().cpu_s;
    const Steady::time_point since = Steady::now();
    m.starts = controller->start_replicas(
        options.replicas, options.per_job, [&] { progress("starting", fleets, since); });
    m.starts_cpu_s = cost().cpu_s - before;
    std::fprintf(stderr, "\n");
  }
  if (options.restart && controller) {
    m.restarted = true;
    const std::uint64_t before = fleets.sum().registered;
    const Steady::time_point since = Steady::now();
    controller->restart();
    m.restart_s = seconds_since(since);
    const auto all = before + static_cast<std::uint64_t>(options.agents);
    while (fleets.sum().registered < all && seconds_since(since) < 600) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      progress("coming back", fleets, since);
    }
    m.registered_s = seconds_since(since);
    std::fprintf(stderr, "\n");
  }
  m.sum_end = fleets.sum();
  std::printf("%s\n", json_of(options, m).c_str());
  fleets.end();
  controller.reset();
  const bool all_started = !m.submitted || m.starts.ready >= options.replicas;
  return m.sum_end.leases_lost == 0 && all_started ? 0 : 1;
}

bool number(const char* text, int& out) {
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, out);
  return error == std::errc() && at == end && out >= 0;
}

bool parse(int count, char** arguments, Options& options) {
  const std::pair<std::string_view, int*> numbers[] = {{"--agents", &options.agents},
                                                       {"--processes", &options.processes},
                                                       {"--connections", &options.connections},
                                                       {"--seconds", &options.seconds},
                                                       {"--ramp", &options.ramp},
                                                       {"--replicas", &options.replicas},
                                                       {"--per-job", &options.per_job},
                                                       {"--jobs", &options.jobs},
                                                       {"--pid", &options.pid}};
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--transport") {
      options.transport = true;
      continue;
    }
    if (argument == "--restart") {
      options.restart = true;
      continue;
    }
    if (i + 1 == count) return false;
    if (argument == "--controller") {
      options.controller = arguments[++i];
      continue;
    }
    if (argument == "--forecaster") {
      options.forecaster = arguments[++i];
      continue;
    }
    bool known = false;
    for (const auto& [name, value] : numbers)
      if (name == argument) known = number(arguments[++i], *value);
    if (!known) return false;
  }
  return options.agents > 0 && options.processes > 0 && options.processes <= options.agents &&
         options.per_job > 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int count, char** arguments) {
  orrery::bench::Options options;
  if (!orrery::bench::parse(count, arguments, options)) {
    std::fputs(orrery::bench::kUsage, stderr);
    return 2;
  }
  return orrery::bench::run(options);
}
