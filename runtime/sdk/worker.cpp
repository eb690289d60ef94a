#include "runtime/sdk/worker.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/sdk/agent_connection.hpp"
#include "runtime/sdk/call_server.hpp"
#include "runtime/sdk/environment.hpp"
#include "runtime/sdk/hashes.hpp"
#include "runtime/sdk/peers.hpp"
#include "runtime/sdk/turns.hpp"

namespace orrery::sdk {
namespace {

constexpr int kDrainedCode = 143;  // As of a program that SIGTERM ended: work is left.
constexpr Milliseconds kFlushLimit{1000};
// What is charged hangs on it, and the agent may be starting anew.
constexpr Milliseconds kDiagnosisLimit{10'000};
constexpr std::size_t kDiagnosisBytes = 512;

// The beginning of a UTF-8 text, cut between two characters.
std::string shortened(const std::string& text) {
  if (text.size() <= kDiagnosisBytes) return text;
  std::size_t end = kDiagnosisBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end);
}

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::Mine:
      return "mine";
    case Fault::Node:
      return "node";
    case Fault::Peer:
      break;
  }
  return "peer";
}

detail::CalleeIdentity identity_of(const detail::WorkerStart& start, const WorkerOptions& options) {
  detail::CalleeIdentity out;
  out.worker = start.worker;
  out.role = start.role;
  out.token = start.token;
  out.message_max = options.message_max;
  if (start.call_certificate.empty()) return out;
  const std::optional<std::string> digest = certificate_digest(start.call_certificate);
  if (!digest)
    throw BadSettings({"ORRERY_CALL_CERTIFICATE: found " + start.call_certificate +
                       ", which holds no certificate, needed one and its key in PEM; start the "
                       "worker by its agent, which makes the file"});
  out.certificate = *digest;
  return out;
}

}  // namespace

struct Worker::State {
  State(detail::WorkerStart begun, const WorkerOptions& options)
      : start(std::move(begun)),
        server(identity_of(start, options),
               start.call_address,
               start.call_certificate,
               start.membership),
        membership(start.membership) {
    if (options.catch_sigterm)
      sigterm = Io::instance().on_signal(SIGTERM, [this] { end(kDrainedCode); });
    if (start.socket.empty()) return;
    const std::string greeting =
        Value{{"hello", {{"worker", start.worker}, {"token", start.token}}}}.dump() + "\n";
    agent = std::make_shared<detail::AgentConnection>(
        start.socket, greeting, [this](const Membership& told) { hear(told); }, turns);
    agent->start();
  }

  ~State() {
    end(0);
    if (thread.joinable()) thread.join();
    sigterm.reset();
    if (agent) {
      agent->flush(kFlushLimit);
      agent->close();
    }
  }

  /// Calls may come from now on: every method is there. Callers wait until then.
  void take_calls() {
    if (!agent || takes_calls.exchange(true)) return;
    agent->keep_saying(
        detail::Kept::Endpoint,
        Value{
            {"endpoint", {{"port", server.port()}, {"certificate", server.identity().certificate}}}}
            .dump());
  }

  /// I/O thread.
  void hear(const Membership& told) {
    {
      const std::scoped_lock lock(mutex);
      const std::uint64_t known = next ? next->generation : membership.generation;
      const bool is_new = told.generation > known;
      // Of the first membership the environment knows no members.
      const bool fills = told.generation == membership.generation && membership.members.empty();
      if (fills && !next) {
        membership = told;
        return server.set_membership(membership);
      }
      if (!is_new) return;
      next = told;
    }
    // How far the worker was is of the membership before.
    agent->stop_saying(detail::Kept::Checkpoint);
    agent->stop_saying(detail::Kept::Progress);
    server.nudge();
  }

  /// On the thread of the calls, or of safe_point, while no call runs.
  void take_up_membership() {
    std::vector<std::function<void(const Membership&)>> told;
    Membership now;
    {
      const std::scoped_lock lock(mutex);
      if (!next) return;
      membership = std::move(*next);
      next.reset();
      now = membership;
      told = membership_functions;
    }
    server.set_membership(now);
    for (const auto& function : told) function(now);
  }

  /// One call, or none where there was something else to do.
  void run_next(bool takes_memberships) {
    const detail::ServedCallPtr call = server.next();
    const std::scoped_lock lock(running);
    if (takes_memberships) take_up_membership();
    if (call) server.run(call);
  }

  void end(int exit_code) {
    {
      const std::scoped_lock lock(mutex);
      if (code) return;
      code = exit_code;
    }
    server.end();
  }

  bool is_ending() const {
    const std::scoped_lock lock(mutex);
    return code.has_value();
  }

  void diagnose(const Diagnosis& diagnosis) {
    diagnosed = true;
    if (!agent) return;
    Value said{{"fault", name_of(diagnosis.fault)}, {"message", shortened(diagnosis.message)}};
    if (diagnosis.fault == Fault::Peer) {
      said["role"] = diagnosis.role;
      said["rank"] = diagnosis.role_rank;
    }
    // Bytes that are no UTF-8 are replaced: what a program says when it fails may be anything.
    agent->keep_saying(
        detail::Kept::Diagnosis,
        Value{{"diagnosis", said}}.dump(-1, ' ', false, Value::error_handler_t::replace));
    agent->flush(kDiagnosisLimit);
  }

  /// Whether a worker's name, JOB-INCARNATION-RANK, is of this worker's job.
  bool is_of_own_job(const std::string& worker) const {
    const auto job_in = [](std::string_view name) { return name.substr(0, name.find('-')); };
    return worker.empty() || job_in(worker) == job_in(start.worker);
  }

  /// Where the program has not said whose fault it is. The role and rank of another job's worker
  /// would name an innocent one of this job.
  void blame_for(const WorkerLost& lost) {
    if (diagnosed || lost.role().empty() || lost.role_rank() < 0) return;
    if (!is_of_own_job(lost.worker())) return;
    diagnose({Fault::Peer, lost.message(), lost.role(), lost.role_rank()});
  }

  int finish() {
    int out = 0;
    std::vector<std::function<void()>> told;
    {
      const std::scoped_lock lock(mutex);
      out = code.value_or(0);
      if (out == kDrainedCode && !drained) told = drain_functions;
      drained = true;
    }
    for (const auto& function : told) function();
    return out;
  }

  /// From now on an exception that nothing catches is looked at before it ends the process.
  static void watch(const std::shared_ptr<State>& state) {
    static const bool kWatches = (before = std::set_terminate(&on_terminate), true);
    (void)kWatches;
    joined = state;
  }

  [[noreturn]] static void on_terminate() {
    try {
      if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
    } catch (const WorkerLost& lost) {
      if (const auto state = joined.lock()) state->blame_for(lost);
    } catch (...) {  // Says nothing of any worker.
    }
    if (before != nullptr) before();
    std::abort();
  }

  static inline std::terminate_handler before = nullptr;
  static inline std::weak_ptr<State> joined;

  const detail::WorkerStart start;
  detail::CallServer server;
  mutable std::mutex mutex;
  Membership membership;           ///< Taken up.
  std::optional<Membership> next;  ///< Heard, not yet taken up.
  std::vector<std::function<void(const Membership&)>> membership_functions;
  std::vector<std::function<void()>> drain_functions;
  std::optional<int> code;  ///< Set once it ends.
  bool drained = false;
  std::mutex running;  ///< Held while a call runs, and at safe points.
  std::thread thread;
  std::atomic<bool> diagnosed = false;
  std::atomic<bool> takes_calls = false;
  const std::shared_ptr<detail::Turns> turns = std::make_shared<detail::Turns>();
  std::shared_ptr<detail::AgentConnection> agent;
  std::shared_ptr<void> sigterm;
  std::shared_ptr<detail::Peers> peers;
};

Worker Worker::join(WorkerOptions options) {
  Worker out(std::make_shared<State>(detail::worker_start(detail::process_variable), options));
  State::watch(out.state_);
  return out;
}

Worker::Worker(std::shared_ptr<State> state) : state_(std::move(state)) {}

Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

const std::string& Worker::name() const { return state_->start.worker; }

const std::string& Worker::job() const { return state_->start.job; }

const std::string& Worker::role() const { return state_->start.role; }

Membership Worker::membership() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->membership;
}

std::uint16_t Worker::port() const { return state_->server.port(); }

void Worker::add(detail::MethodEntry entry) { state_->server.add_method(std::move(entry)); }

void Worker::on_membership(std::function<void(const Membership&)> function) {
  const std::scoped_lock lock(state_->mutex);
  state_->membership_functions.push_back(std::move(function));
}

void Worker::on_drain(std::function<void()> function) {
  const std::scoped_lock lock(state_->mutex);
  state_->drain_functions.push_back(std::move(function));
}

int Worker::serve() {
  state_->take_calls();
  try {
    while (!state_->is_ending()) state_->run_next(true);
    return state_->finish();
  } catch (const WorkerLost& lost) {
    state_->blame_for(lost);
    throw;
  }
}

void Worker::start() {
  if (state_->thread.joinable()) return;
  state_->take_calls();
  state_->thread = std::thread([state = state_.get()] {
    while (!state->is_ending()) state->run_next(false);
  });
}

bool Worker::safe_point() {
  try {
    {
      const std::scoped_lock lock(state_->running);
      state_->take_up_membership();
    }
    if (!state_->is_ending()) return true;
    state_->finish();
    return false;
  } catch (const WorkerLost& lost) {
    state_->blame_for(lost);
    throw;
  }
}

int Worker::exit_code() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->code.value_or(0);
}

bool Worker::is_ending() const { return state_->is_ending(); }

void Worker::stop() { state_->end(0); }

void Worker::report_profiling(const Value& numbers) {
  if (state_->agent) state_->agent->say(Value{{"profiling", numbers}}.dump());
}

void Worker::report_progress(const Value& progress) {
  if (!state_->agent) return;
  // What is written while the agent goes is lost with the connection, so it is said again.
  const auto checkpointed = progress.find("checkpointed");
  const bool is_saved = checkpointed != progress.end() && *checkpointed == true;
  if (is_saved) state_->agent->stop_saying(detail::Kept::Progress);
  state_->agent->keep_saying(is_saved ? detail::Kept::Checkpoint : detail::Kept::Progress,
                             Value{{"progress", progress}}.dump());
}

void Worker::diagnose(const Diagnosis& diagnosis) {
  const bool names = !diagnosis.role.empty() && diagnosis.role_rank >= 0;
  const bool names_none = diagnosis.role.empty() && diagnosis.role_rank < 0;
  if (diagnosis.fault == Fault::Peer ? !names : !names_none)
    throw BadArguments("diagnose: found fault " + std::string(name_of(diagnosis.fault)) +
                       " with role \"" + diagnosis.role + "\" and rank " +
                       std::to_string(diagnosis.role_rank) +
                       ", needed a role and a rank from 0 on with fault peer alone; name the peer");
  state_->diagnose(diagnosis);
}

Turn Worker::turn(std::chrono::milliseconds lease, std::chrono::milliseconds deadline) {
  if (!state_->agent) return {};
  return {state_->turns, state_->turns->take(lease, deadline)};
}

Driver Worker::driver() const {
  const std::scoped_lock lock(state_->mutex);
  if (state_->peers) return Driver(state_->peers);
  const detail::WorkerStart& start = state_->start;
  if (start.server_url.empty() && !std::ifstream(start.server_url_file))
    throw BadSettings(
        {"ORRERY_SERVER_URL: found none, needed the controller's address to call "
         "other workers; start the worker by its agent, which sets it"});
  DirectoryAccess access{
      {start.server_url, start.token, start.ca, start.server_url_file}, start.job, {}};
  state_->peers = detail::open_peers(std::move(access));
  return Driver(state_->peers);
}

}  // namespace orrery::sdk
