// A test double of the agent's side of the worker protocol.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/workers/cancel.hpp"

namespace orrery::worker {

/// Listens on a Unix socket; tells each worker that says hello the newest membership, and everybody
/// on each change. Keeps what workers said.
class FakeAgent {
 public:
  explicit FakeAgent(std::string path);
  ~FakeAgent();

  /// The workers of a generation in rank order, by the names of their hellos.
  void form(std::uint64_t generation, std::vector<std::string> workers, int master_port);

  /// Closes all connections and the socket, as an agent that is killed; and listens again.
  void die();
  void live();

  /// Waits until a worker has said a line that contains `text`; false when patience ends.
  bool heard(const std::string& worker, const std::string& text);

  const std::string& path() const { return path_; }

 private:
  struct Connection {
    Descriptor socket;
    std::string unread;
    std::string worker;
  };

  void run(int listener);
  void take(Connection& connection, const std::string& line);
  void tell(const Connection& connection) const;

  const std::string path_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<std::string, std::vector<std::string>> said_;
  std::uint64_t generation_ = 0;
  std::vector<std::string> workers_;
  int master_port_ = 0;
  std::unique_ptr<Cancel> end_;
  std::thread thread_;
};

}  // namespace orrery::worker
