// A worker that can be called: joins its job, registers methods, serves.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "runtime/sdk/driver.hpp"
#include "runtime/sdk/membership.hpp"
#include "runtime/sdk/method.hpp"
#include "runtime/sdk/turn.hpp"

namespace orrery::sdk {

struct WorkerOptions {
  std::uint64_t message_max = std::uint64_t{2} << 30;  ///< Bytes of buffers in one call.
  bool catch_sigterm = true;                           ///< SIGTERM is the drain: see Worker::serve.
};

/// Whose fault it is that a worker fails.
enum class Fault : std::uint8_t {
  Mine,  ///< Of this program.
  Node,  ///< Of the node that it runs on.
  Peer,  ///< Of another worker of the job.
};

/// What a worker says of its own failure.
struct Diagnosis {
  Fault fault = Fault::Mine;
  std::string message;          ///< For people; of more than 512 bytes the beginning is kept.
  std::string role;             ///< Peer: its role,
  std::int64_t role_rank = -1;  ///< and its rank in that, from 0 on.
};

/// This process as a worker of its job.
///
///     Worker worker = Worker::join();
///     worker.method("add", [](int a, int b) { return a + b; });
///     return worker.serve();
///
/// One per process. Methods run in the order in which their calls arrive, one after the other, on
/// the thread of `serve` (or that of `start`); those that are declared concurrent run beside them.
class Worker {
 public:
  /// Reads the environment that the agent made, listens for calls, and says hello to the agent.
  /// Throws BadSettings: everything that is missing or unfit.
  static Worker join(WorkerOptions options = {});

  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  /// Its lasting name.
  const std::string& name() const;

  const std::string& job() const;

  const std::string& role() const;

  /// As of the membership that was taken up last.
  Membership membership() const;

  std::int64_t rank() const { return membership().rank; }

  std::int64_t role_rank() const { return membership().role_rank; }

  std::int64_t world_size() const { return membership().world_size; }

  /// Where it is called.
  std::uint16_t port() const;

  /// Registers a function: typed parameters from JSON, after a Context& and an Items<T>& where it
  /// takes them. Throws BadSettings for a name that is taken.
  template <class F>
  Worker& method(std::string name, F&& function, MethodOptions options = {}) {
    add(detail::MethodMaker<std::decay_t<F>>::make(
        std::move(name), std::forward<F>(function), std::move(options)));
    return *this;
  }

  /// Registers the methods of an object, as its class lists them in
  /// `static void methods(Methods<T>&)`.
  template <class T>
  Worker& expose(std::shared_ptr<T> instance) {
    Methods<T> methods(std::move(instance));
    T::methods(methods);
    for (detail::MethodEntry& entry : methods.take()) add(std::move(entry));
    return *this;
  }

  /// Called with each new membership, at the safe point between two calls, on the thread that the
  /// calls run on; with `start` on that of `safe_point`.
  void on_membership(std::function<void(const Membership&)> function);

  /// Called once before serve returns because of a drain, on its thread: the place to save.
  void on_drain(std::function<void()> function);

  /// Runs calls until SIGTERM or `stop`. Returns the exit code that the agent expects: 143 after
  /// SIGTERM, for work was left; 0 after `stop`. Calls that wait are answered Cancelled then.
  int serve();

  /// Runs calls on a thread of its own, beside a main loop that calls `safe_point`.
  void start();

  /// Between two steps of a main loop: waits until no call runs and takes up a new membership.
  /// False once the worker is to end: then return `exit_code()`.
  bool safe_point();

  /// What serve returns.
  int exit_code() const;

  /// Whether SIGTERM has come, or `stop` was called.
  bool is_ending() const;

  /// Ends serve and safe_point with exit code 0. Any thread, methods too.
  void stop();

  /// Tells the agent what was measured: step_time_s, throughput, batch_size, and keys of your own.
  void report_profiling(const Value& numbers);

  /// Tells the agent how far the job is: done, rate, checkpointed.
  void report_progress(const Value& progress);

  /// Says whose fault it will be that this worker fails, before it does. What was said last counts,
  /// and nothing of it where the program ends with code 0. Waits, at most ten seconds, until the
  /// agent has been told. A WorkerLost that leaves `serve` or `safe_point`, or that nothing
  /// catches, is the peer's fault, where the program has not said otherwise. Throws BadArguments: a
  /// peer without a role or rank, or one of these with another fault.
  void diagnose(const Diagnosis& diagnosis);

  /// Waits for the turn on this worker's devices, for workers that share them. `lease` (1 s to 1
  /// h): for how long this process may stand still with it. Throws Timeout after `deadline`, and
  /// BadArguments where it has a turn already or the agent refuses. Where there is no agent, every
  /// worker has its turn. Any thread.
  Turn turn(std::chrono::milliseconds lease = std::chrono::seconds(30),
            std::chrono::milliseconds deadline = std::chrono::minutes(10));

  /// Calls to the other workers of the job, in this worker's name. Throws BadSettings where no
  /// controller is known.
  Driver driver() const;

 private:
  struct State;

  explicit Worker(std::shared_ptr<State> state);
  void add(detail::MethodEntry entry);

  std::shared_ptr<State> state_;
};

}  // namespace orrery::sdk
