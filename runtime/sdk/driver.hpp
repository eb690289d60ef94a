// Calls to the workers of a job: by a program outside it, or by one of its workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/sdk/future.hpp"
#include "runtime/sdk/value.hpp"

namespace orrery::sdk {

namespace detail {

class Peers;

template <class... A>
Value list_of(A&&... arguments) {
  Value out = Value::array();
  (out.push_back(value_of(std::forward<A>(arguments))), ...);
  return out;
}

}  // namespace detail

/// One worker, by its name or by its rank inside a role; who that is now is looked up at each call.
/// Copies are the same worker. All functions: any thread but the one that I/O runs on.
class RemoteWorker {
 public:
  RemoteWorker(std::shared_ptr<detail::Peers> peers,
               std::string worker,
               std::string role,
               std::int64_t role_rank)
      : peers_(std::move(peers)),
        worker_(std::move(worker)),
        role_(std::move(role)),
        role_rank_(role_rank) {}

  /// The same worker, called with these options.
  RemoteWorker with(CallOptions options) const {
    RemoteWorker out = *this;
    out.options_ = std::move(options);
    return out;
  }

  /// The same worker, called with this deadline.
  RemoteWorker within(std::chrono::milliseconds deadline) const {
    RemoteWorker out = *this;
    out.options_.deadline = deadline;
    return out;
  }

  /// Calls with positional arguments and waits. Throws a CallError.
  template <class T = Value, class... A>
  T call(const std::string& method, A&&... arguments) const {
    return submit<T>(method, std::forward<A>(arguments)...).get();
  }

  /// Begins a call with positional arguments. Throws BadArguments for what does not travel.
  template <class T = Value, class... A>
  Future<T> submit(const std::string& method, A&&... arguments) const {
    return Future<T>(begin(method, detail::list_of(std::forward<A>(arguments)...), {}, false));
  }

  /// Begins a call with named arguments (an object), and positional ones if there are.
  template <class T = Value>
  Future<T> submit_named(const std::string& method,
                         Value named,
                         Value positional = Value::array()) const {
    return Future<T>(begin(method, std::move(positional), std::move(named), false));
  }

  template <class T = Value>
  T call_named(const std::string& method, Value named, Value positional = Value::array()) const {
    return submit_named<T>(method, std::move(named), std::move(positional)).get();
  }

  /// Calls a method that gives a stream.
  template <class T = Value, class... A>
  Stream<T> stream(const std::string& method, A&&... arguments) const {
    return Stream<T>(begin(method, detail::list_of(std::forward<A>(arguments)...), {}, true));
  }

  template <class T = Value>
  Stream<T> stream_named(const std::string& method, Value named) const {
    return Stream<T>(begin(method, Value::array(), std::move(named), true));
  }

  const std::string& role() const { return role_; }

  std::int64_t role_rank() const { return role_rank_; }

 private:
  std::shared_ptr<detail::CallState> begin(const std::string& method,
                                           Value args,
                                           Value kwargs,
                                           bool stream) const;

  std::shared_ptr<detail::Peers> peers_;
  std::string worker_;
  std::string role_;
  std::int64_t role_rank_;
  CallOptions options_;
};

/// Where the controller is and who asks. What is empty comes from the environment:
/// ORRERY_SERVER_URL or ORRERY_SERVER, ORRERY_JOB, ORRERY_TOKEN or the file ORRERY_TOKEN_FILE
/// names, ORRERY_CA.
struct DriverOptions {
  std::string url;  ///< Of several controllers all of them, joined by commas.
  std::string job;
  std::string token;
  std::string ca;    ///< A PEM file.
  std::string name;  ///< Of this driver, unique among those of a job; empty: host and process.
};

/// One job as a driver sees it. Copies are the same driver; its connections end with the last copy
/// and the last worker, group or open call that came of it.
class Driver {
 public:
  /// Throws BadSettings: everything that is missing or unfit.
  explicit Driver(DriverOptions options = {});

  explicit Driver(std::shared_ptr<detail::Peers> peers) : peers_(std::move(peers)) {}

  /// A worker by its rank inside a role.
  RemoteWorker worker(std::string role, std::int64_t role_rank) const {
    return {peers_, {}, std::move(role), role_rank};
  }

  /// A worker by its lasting name, ORRERY_WORKER.
  RemoteWorker worker_named(std::string name) const { return {peers_, std::move(name), {}, -1}; }

  const std::string& job() const;

  /// Ends all connections; open calls end as Cancelled.
  void close();

  const std::shared_ptr<detail::Peers>& peers() const { return peers_; }

 private:
  std::shared_ptr<detail::Peers> peers_;
};

}  // namespace orrery::sdk
