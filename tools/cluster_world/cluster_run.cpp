#include "tools/cluster_world/cluster_run.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "sim/faults/event_triggers.hpp"
#include "sim/run/run_account.hpp"
#include "tools/client/server_address.hpp"
#include "tools/cluster_world/cluster_world.hpp"
#include "tools/cluster_world/node_links.hpp"
#include "tools/cluster_world/run_certificates.hpp"
#include "tools/cluster_world/store_disk.hpp"

namespace orrery::cli {
namespace {

using scenarios::Fault;
using scenarios::FaultKind;
using SteadyClock = std::chrono::steady_clock;

/// Longest wait between two looks at the journal.
constexpr Duration kLook = Duration::milliseconds(5);

/// In which all daemons must be up.
constexpr Duration kReadyLimit = Duration::seconds(30);

/// How long nothing must have happened before jobs that wait are taken to wait for ever, beside
/// what leases take.
constexpr Duration kPatience = Duration::seconds(2);

/// How long the last words of workers and agents are waited for.
constexpr Duration kLastWords = Duration::milliseconds(300);

/// By so much what happens at an instant comes before the policy's cycle of that instant.
constexpr Duration kBeforeCycle = Duration::milliseconds(30);

/// Faults that this world can make happen.
bool can_strike(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::Crash:
    case FaultKind::Delete:
    case FaultKind::Hang:
    case FaultKind::Slow:
    case FaultKind::Down:
    case FaultKind::Up:
    case FaultKind::AgentCrash:
    case FaultKind::Cordon:
    case FaultKind::Uncordon:
    case FaultKind::ControllerPause:
    case FaultKind::LinkCut:
    case FaultKind::PreemptionNotice:
    case FaultKind::DeviceLost:
    case FaultKind::StoreFail:
    case FaultKind::SubMasterCrash:
      return true;
    case FaultKind::ControllerCrash:
      return fault.point == scenarios::CrashPoint::Anywhere;
    default:
      return false;
  }
}

bool has_fault(const scenarios::Scenario& scenario, FaultKind kind) {
  return std::ranges::any_of(scenario.faults,
                             [kind](const Fault& fault) { return fault.kind == kind; });
}

/// How long before its end a node announces it; zero: it never does.
Duration notice_of(const scenarios::Scenario& scenario, NodeId node) {
  for (const Fault& fault : scenario.faults)
    if (fault.kind == FaultKind::PreemptionNotice &&
        std::ranges::find(fault.nodes, node) != fault.nodes.end())
      return fault.notice;
  return {};
}

Duration since(SteadyClock::time_point then) {
  return Duration{
      std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - then).count()};
}

Instant wall_clock() {
  return Instant{std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count()};
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return Done{};
  return Error{.file = path, .message = "cannot be written; check the disk and its rights"};
}

/// Everything of one run, in the order in which it must be made.
class ClusterRun final : private JournalObserver {
 public:
  ClusterRun(const scenarios::Scenario& scenario,
             sim::JobSource& source,
             const sim::RunOptions& options,
             const ClusterPrograms& programs,
             const ClusterAddresses& addresses,
             NodeLinks* links,
             StoreDisk& disk,
             EmulatedWorkers workers,
             Duration period)
      : scenario_(scenario),
        options_(options),
        period_(period),
        folder_(addresses.folder),
        worker_program_(programs.worker),
        groups_(named_groups(scenario, addresses.ports)),
        triggers_(scenario),
        journal_(addresses.journal),
        workers_(std::move(workers)),
        daemons_(programs, addresses, static_cast<std::size_t>(scenario.node_count()), links),
        requests_(client_options(addresses)),
        world_(scenario,
               source,
               worker_program_,
               groups_,
               folder_,
               daemons_,
               links,
               disk,
               workers_,
               requests_,
               journal_),
        account_(journal_.state(), options, [this](std::uint64_t request) {
          return world_.take_label(request);
        }) {
    journal_.set_observer(*this);
  }

  Status bring_up(const ClusterAddresses& addresses);
  Result<RunEnd> run();

  /// Ends the controller, which says what it has ordered: the same as its journal, folded. Errors:
  /// it is not.
  Status compare_orders();

  sim::RunReport close(const Policy& policy, RunEnd end) {
    sim::RunReport report =
        account_.close(scenario_, policy, journal_.chain(), journal_.last().value, end, now());
    report.warnings = world_.warnings();
    for (std::string& sentence : triggers_.never_struck())
      report.warnings.push_back(std::move(sentence));
    return report;
  }

  std::uint64_t workload_refused() const { return world_.workload_refused(); }

 private:
  static ClientOptions client_options(const ClusterAddresses& addresses) {
    ClientOptions out;
    const bool tls = !addresses.certificates.empty();
    out.server = *server_address((tls ? "https://" : "") + addresses.http_address);
    if (tls)
      out.tls = {addresses.certificate("ca.pem"),
                 addresses.certificate("admin-scenario.pem"),
                 addresses.certificate("admin-scenario.key")};
    return out;
  }

  AgentSettings agent_settings(NodeId node, const ClusterAddresses& addresses) const {
    return {node,
            addresses.certificates.empty() ? "127.0.0." + std::to_string(1 + node.value % 250)
                                           : NodeLinks::host_of(node),
            notice_of(scenario_, node)};
  }

  Instant now() const { return kScenarioBegin + since(began_); }

  void on_event(Sequence sequence, const Event& event) override {
    account_.on_event(sequence, event);
    if (triggers_.any()) triggers_.on_event(event, journal_.state());
  }

  void on_notices(std::span<const Notice> notices, const State& state) override {
    account_.on_notices(notices, state);
    if (triggers_.any()) triggers_.on_notices(notices, state);
  }

  void on_order(const CommandBody& order, Instant at) override {
    if (triggers_.any()) triggers_.on_order(order, journal_.state(), at);
  }

  void await_cycle() const;
  void let_faults_strike();
  bool is_over();
  void wait() const;

  const scenarios::Scenario& scenario_;
  const sim::RunOptions& options_;
  Duration period_;  ///< Of the policy.
  std::string folder_;
  std::string worker_program_;
  std::vector<NodeGroup> groups_;
  sim::EventTriggers triggers_;
  JournalReader journal_;
  EmulatedWorkers workers_;
  Daemons daemons_;
  Requests requests_;
  ClusterWorld world_;
  sim::RunAccount account_;
  SteadyClock::time_point began_ = SteadyClock::now();
  std::vector<sim::Strike> strikes_;
  std::uint64_t news_ = 0;  ///< That the journal had when something happened last,
  Instant news_at_;         ///< and when that was.
};

Status ClusterRun::bring_up(const ClusterAddresses& addresses) {
  const auto nodes = static_cast<std::uint32_t>(scenario_.node_count());
  Status written =
      write_file(folder_ + "/controller.yaml", controller_document(scenario_, groups_, addresses));
  for (std::uint32_t n = 0; n < nodes && written; ++n)
    written = write_file(folder_ + "/" + node_name(NodeId{n}) + ".yaml",
                         agent_document(groups_, agent_settings(NodeId{n}, addresses), addresses));
  if (!written) return written;
  // The clock of records less that of the run, before the first record.
  journal_.set_origin(wall_clock(), kScenarioBegin - kReadyLimit);
  if (Status started = daemons_.start_controller(); !started) return started;
  for (std::uint32_t n = 0; n < nodes; ++n)
    if (Status started = daemons_.start_agent(NodeId{n}); !started) return started;
  const auto asked = SteadyClock::now();
  const auto all_joined = [&] {
    if (!daemons_.controller_is_ready()) return false;
    for (std::uint32_t n = 0; n < nodes; ++n)
      if (!daemons_.agent_is_ready(NodeId{n})) return false;
    std::uint32_t joined = 0;
    for (std::uint32_t n = 0; n < nodes; ++n)
      if (journal_.state().nodes.size() > n &&
          journal_.state().nodes[NodeId{n}.index()].heard.value > 0)
        ++joined;
    return joined == nodes;
  };
  while (true) {
    if (Status followed = journal_.follow(); !followed) return followed;
    if (all_joined()) break;
    if (const std::string ended = daemons_.ended_by_itself(); !ended.empty())
      return Error{.code = ErrorCode::Unavailable, .message = ended};
    if (since(asked) > kReadyLimit)
      return Error{
          .code = ErrorCode::Unavailable,
          .message =
              "controller and agents were not ready within 30 s; their logs are in " + folder_};
    wait();
  }
  await_cycle();
  began_ = SteadyClock::now();
  journal_.set_origin(wall_clock(), now());
  return Done{};
}

// Policies are asked at whole multiples of their period, of the clock on the wall. A scenario
// begins with a period, and what it says of an instant at which one ends happens before. Where a
// run is over before the next one begins, it need not wait for that.
void ClusterRun::await_cycle() const {
  if (period_ == Duration::zero()) return;
  const Duration early = std::min(kBeforeCycle, Duration{period_.ns / 10});
  const Duration longest =
      scenario_.until.is_never() ? Duration::forever() : scenario_.until - kScenarioBegin;
  const auto into_period = [&] { return Duration{(wall_clock().ns + early.ns) % period_.ns}; };
  for (Duration into = into_period(); into > kLook && period_ - into <= longest;
       into = into_period())
    wait();
}

void ClusterRun::let_faults_strike() {
  for (const std::uint32_t index : world_.take_struck()) {
    for (sim::RunListener* listener : options_.listeners) listener->on_struck(index, now());
    triggers_.on_struck(index, now());
  }
  if (!triggers_.any()) return;
  triggers_.take(strikes_);
  for (const sim::Strike& strike : strikes_) world_.strike(strike, now());
  strikes_.clear();
}

bool ClusterRun::is_over() {
  if (journal_.news() != news_ || world_.work_left()) {
    news_ = journal_.news();
    news_at_ = now();
    return false;
  }
  const Duration quiet = now() - news_at_;
  if (journal_.state().live_count() == 0) return quiet > kLastWords;
  const Duration patience =
      scenario_.settings.node_lease * 2 + scenario_.settings.takeover_grace + kPatience;
  return quiet > patience && journal_.only_cycles_left();
}

Status ClusterRun::compare_orders() {
  daemons_.stop_controller();
  if (Status followed = journal_.follow(); !followed) return followed;
  std::ifstream log(folder_ + "/controller.log");
  for (std::string line; std::getline(log, line);) {
    if (!line.starts_with("led epoch ")) continue;
    bool same = false;
    for (const TermOrders& term : journal_.terms()) same = same || "led " + term.text() == line;
    if (!same)
      return Error{
          .code = ErrorCode::InvalidInput,
          .subject = "replay",
          .message =
              "the controller " + line + ", which its journal, folded again, does not give: " +
              (journal_.terms().empty() ? std::string("no term") : journal_.terms().back().text())};
  }
  return Done{};
}

void ClusterRun::wait() const {
  std::vector<pollfd> polled;
  workers_.append_descriptors(polled);
  const timespec longest{0, static_cast<long>(kLook.ns)};
  ::ppoll(polled.data(), polled.size(), &longest, nullptr);
}

Result<RunEnd> ClusterRun::run() {
  while (true) {
    const Instant at = now();
    world_.turn(at);
    if (!world_.errors().empty()) return world_.errors();
    let_faults_strike();
    if (account_.should_stop()) return RunEnd::Stopped;
    if (at >= scenario_.until || is_over()) return RunEnd::Finished;
    if (world_.next(at) > at) wait();
  }
}

/// What some faults need.
struct BreakableParts {
  std::unique_ptr<NodeLinks> links;
  StoreDisk disk;
};

/// Makes them where a fault of the scenario needs them, and says at which addresses the daemons
/// meet.
Result<BreakableParts> make_parts(const scenarios::Scenario& scenario, ClusterAddresses& to) {
  BreakableParts out;
  to.http_address = "unix:" + to.folder + "/http.sock";
  to.agents_address = "unix:" + to.folder + "/agents.sock";
  to.journal = to.folder + "/journal.db";
  if (has_fault(scenario, FaultKind::StoreFail)) {
    auto disk = StoreDisk::mount(to.folder + "/store");
    if (!disk) return disk.errors();
    out.disk = std::move(*disk);
    to.journal = to.folder + "/store/journal.db";
  }
  if (has_fault(scenario, FaultKind::LinkCut)) {
    const auto nodes = static_cast<std::uint32_t>(scenario.node_count());
    auto links = NodeLinks::make(nodes);
    if (!links) return links.errors();
    out.links = std::move(*links);
    to.certificates = to.folder + "/certificates";
    to.http_address = "127.0.0.1:22100";
    to.agents_address = std::string(NodeLinks::kControllerHost) + ":22101";
    if (Status made = make_run_certificates(to.certificates, NodeLinks::kControllerHost, nodes);
        !made)
      return made.errors();
  }
  return out;
}

/// A journal on a disk that goes with the run is copied to where others are.
void keep_journal(const ClusterAddresses& addresses) {
  namespace fs = std::filesystem;
  std::error_code code;
  for (const char* part : {"", "-wal", "-shm"})
    fs::copy_file(addresses.journal + part, addresses.folder + "/journal.db" + part, code);
}

}  // namespace

Errors unfit_for_cluster(const scenarios::Scenario& scenario, const sim::LoadedWorkload& workload) {
  Errors errors;
  const auto unfit = [&](int line, const std::string& subject, const std::string& message) {
    errors.push_back({ErrorCode::InvalidInput, scenario.file, line, subject, message});
  };
  constexpr std::int64_t kNodesMax = 64;
  if (scenario.node_count() > kNodesMax)
    unfit(0,
          "cluster.nodes",
          std::to_string(scenario.node_count()) +
              " found, world cluster runs an agent for each, at most " + std::to_string(kNodesMax) +
              "; use fewer, or another world");
  if (scenario.has_workload())
    unfit(0, "workload", "world cluster runs the jobs of the scenario only; use another world");
  if (workload.sends(scenario))
    unfit(0,
          "jobs",
          "some send over a network, which world cluster does not model; use another world");
  if (scenario.timing.mode != scenarios::TimingMode::Simple)
    unfit(0, "timing.mode", "world cluster has mode simple only; use world model");
  if (!scenario.fault_processes.empty() || scenario.failures.any())
    unfit(0, "faults", "world cluster makes single faults only; use world model");
  if (scenario.jitter.any())
    unfit(0, "jitter", "real time has its own; remove it or use world model");
  if (scenario.planner_latency != Duration::zero())
    unfit(0, "planner.latency", "a real planner takes what it takes; remove it or use world model");
  if (scenario.relaunch.answer != scenarios::RelaunchAnswer::None ||
      scenario.relaunch.after != Duration::zero())
    unfit(0, "relaunch", "world cluster replaces no node; use world model");
  for (const NodeGroup& group : scenario.groups)
    if (!group.hardware.empty())
      unfit(0, "cluster.hardware", "world cluster pretends no custom hardware; use world model");
  for (const Fault& fault : scenario.faults)
    if (!can_strike(fault))
      unfit(fault.line,
            "fault " + std::string(to_string(fault.kind)),
            "world cluster cannot make it happen; use world model");
  for (const Fault& fault : scenario.faults)
    if (fault.kind == FaultKind::PreemptionNotice)
      for (const NodeId node : fault.nodes)
        if (notice_of(scenario, node) != fault.notice)
          unfit(fault.line,
                "fault preemption_notice",
                "a node has two notices of different length, and an agent knows one; make them "
                "equal, or use world model");
  if (has_fault(scenario, FaultKind::LinkCut))
    if (const std::string lacks = why_no_links(); !lacks.empty())
      unfit(0, "fault link_cut", "world cluster " + lacks + ", or use world model");
  if (has_fault(scenario, FaultKind::StoreFail) && ::geteuid() != 0)
    unfit(0,
          "fault store_fail",
          "world cluster needs root, for a disk that can be full; run it as root, or use world "
          "model");
  for (const scenarios::ScenarioJob& job : scenario.jobs)
    if (!check_spec(job.spec).empty())
      unfit(job.line,
            "job " + job.spec.name,
            "is unsound, and no HTTP server takes it; use world model");
  for (const scenarios::ScenarioJob& job : scenario.jobs)
    for (const scenarios::WorkerScript& script : job.workers)
      if (script.kind != scenarios::ScriptKind::Exit)
        unfit(job.line,
              "job " + job.spec.name,
              "has workers that their node refuses, which world cluster cannot; use world model");
  for (const scenarios::ScenarioJob& job : scenario.jobs)
    if (job.hello_after)
      unfit(job.line,
            "job " + job.spec.name,
            "has hello_after, and the workers of world cluster say hello at once; use world model");
  if (!may_make_networks())
    unfit(
        0,
        "world",
        "cluster needs a network namespace for each node, which this process may not make; run it "
        "as root, allow user namespaces, or use world model");
  return errors;
}

Result<sim::RunReport> run_cluster(const scenarios::Scenario& scenario,
                                   const sim::LoadedWorkload& workload,
                                   const Policy& policy,
                                   const sim::RunOptions& options,
                                   const std::string& keep) {
  const auto programs = ClusterPrograms::find();
  if (!programs) return programs.errors();
  const auto folder = RunFolder::make(keep);
  if (!folder) return folder.errors();
  ClusterAddresses addresses;
  addresses.folder = folder->path();
  addresses.ports = PortRange::standard();
  auto parts = make_parts(scenario, addresses);
  if (!parts) return parts.errors();
  auto workers = EmulatedWorkers::open(folder->path() + "/workers.sock");
  if (!workers) return workers.errors();
  const std::unique_ptr<sim::JobSource> source = workload.play(scenario);
  ClusterRun run(scenario,
                 *source,
                 options,
                 *programs,
                 addresses,
                 parts->links.get(),
                 parts->disk,
                 std::move(*workers),
                 policy.triggers().period);
  if (const Status up = run.bring_up(addresses); !up) return up.errors();
  const auto end = run.run();
  if (!end) return end.errors();
  if (const Status same = run.compare_orders(); !same) return same.errors();
  if (!keep.empty()) keep_journal(addresses);
  sim::RunReport report = run.close(policy, *end);
  report.summary.workload = workload.account_of_run(run.workload_refused());
  return report;
}

}  // namespace orrery::cli
