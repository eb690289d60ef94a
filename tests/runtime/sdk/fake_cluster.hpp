// A controller's directory and an agent in one, as workers and drivers of a test see them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/sdk/directory.hpp"
#include "runtime/sdk/driver.hpp"
#include "runtime/workers/cancel.hpp"
#include "tests/runtime/workers/child.hpp"
#include "tests/support/temporary_folder.hpp"

namespace orrery::sdk {

/// How a worker of a test begins.
struct FakeWorker {
  std::string role = "trainer";
  std::int64_t role_rank = 0;
  std::string certificate;  ///< A PEM file; empty: plain.
  std::vector<std::string> environment = {};
  bool listens = true;  ///< It is waited for until it does.
};

/// Serves GET /api/v1/jobs/JOB/peers and the workers' socket; keeps what was posted and said.
class FakeCluster {
 public:
  FakeCluster();
  ~FakeCluster();

  /// Starts `program` as a worker and waits until it listens, if it is to. Its rank is the number
  /// of those before it.
  worker::Child& start(const std::string& program, const FakeWorker& worker = {});

  /// The worker's name that start gave.
  std::string name_of(const std::string& role, std::int64_t role_rank) const;

  /// What the worker shows to be itself.
  std::string token_of(const std::string& worker) const;

  /// What a driver needs.
  DriverOptions driver_options(const std::string& name = "") const;

  Driver driver(const std::string& name = "") const { return Driver(driver_options(name)); }

  /// Where a worker listens and the key of a caller there.
  Peer peer(const std::string& worker, const std::string& caller) const;

  /// A new membership of all that are listed, told to those that said hello.
  void form(std::uint64_t generation);

  void set_phase(const std::string& phase);

  /// Whether the controller knows the workers' tokens, as it does once their nodes have registered.
  void know_tokens(bool known);

  /// Waits until the directory has refused so many questions; false when patience ends.
  bool refused(int times);

  /// Takes a worker out of the list.
  void forget(const std::string& worker);

  /// Gives a worker's entry another port, certificate or token.
  void change(const std::string& worker, const Peer& to, const std::string& token = "");

  /// Waits until a worker has said so many lines that contain `text`; false when patience ends.
  bool heard(const std::string& worker, const std::string& text, int times = 1);

  /// What a worker has said, in its order.
  std::vector<std::string> said(const std::string& worker) const;

  /// The agent says a line to a worker.
  void tell(const std::string& worker, const std::string& line) const;

  /// The agent's connections end, as where it starts again.
  void restart_agent();

  /// Waits until the worker has told where it listens.
  bool listens(const std::string& worker);

  /// The bodies that were posted.
  std::vector<std::string> posted() const;

  const std::string& url() const { return url_; }

 private:
  struct Entry {
    Peer peer;
    std::string token;
    std::vector<std::string> said;
  };

  struct Connection {
    worker::Descriptor socket;
    bool is_http = false;
    std::string unread;
    std::string worker;
  };

  void run();
  bool take(Connection& connection);
  void take_line(Connection& connection, const std::string& line);
  void tell(const Connection& connection) const;
  std::string answer(const std::string& request);
  std::string peers_for(const std::string& caller) const;
  Entry* find(const std::string& worker);

  TemporaryFolder folder_;
  worker::Descriptor agent_;
  worker::Descriptor http_;
  std::string url_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
  std::vector<std::string> posted_;
  std::uint64_t generation_ = 1;
  std::string phase_ = "Running";
  bool knows_tokens_ = true;
  int refused_ = 0;
  int begun_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<worker::Child>> children_;
  worker::Cancel end_;
  std::thread thread_;
};

}  // namespace orrery::sdk
