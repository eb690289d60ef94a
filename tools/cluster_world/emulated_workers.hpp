// The processes of emulated workers as the model's world sees them: who has come, what each hears,
// and what each is to do.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/result.hpp"

namespace orrery::cli {

/// What a process said of itself.
struct EmulatedWorker {
  WorkerName name;
  pid_t pid = -1;
  pid_t shim = -1;
  std::map<std::string, std::string> variables;  ///< Those whose names begin with ORRERY_.
};

/// One thing that happened to a process.
struct WorkerNews {
  enum class Kind : std::uint8_t {
    Came,   ///< It runs.
    Asked,  ///< SIGTERM came.
    Heard,  ///< Its agent told it `line`.
    Gone,   ///< It lives no more.
  };
  Kind kind = Kind::Came;
  WorkerName name;
  std::string line;
};

/// Listens at a Unix socket. Used by one thread; nothing here waits.
class EmulatedWorkers {
 public:
  /// Errors: the path is too long or cannot be bound.
  static Result<EmulatedWorkers> open(const std::string& path);

  EmulatedWorkers(EmulatedWorkers&& other) noexcept
      : listener_(std::exchange(other.listener_, -1)),
        connections_(std::move(other.connections_)) {}

  EmulatedWorkers& operator=(EmulatedWorkers&&) = delete;
  ~EmulatedWorkers();

  void append_descriptors(std::vector<pollfd>& polled) const;

  /// Takes what is there, in the order in which it came from each.
  std::vector<WorkerNews> take();

  /// The process that goes by this name; null where none does.
  const EmulatedWorker* find(const WorkerName& name) const;

  /// It says hello to its agent, which counts it as ready.
  void make_ready(const WorkerName& name) { send(name, "ready"); }

  /// It says a line of JSON to its agent.
  void say(const WorkerName& name, const std::string& json) { send(name, "say " + json); }

  /// It ends: with this exit code, or from 128 on by a signal.
  void end(const WorkerName& name, int exit_code) {
    send(name, "exit " + std::to_string(exit_code));
  }

 private:
  struct Connection {
    int descriptor = -1;
    std::string in;
    EmulatedWorker worker;
    bool introduced = false;
    bool over = false;
  };

  explicit EmulatedWorkers(int listener) : listener_(listener) {}

  void accept_all();
  void read_from(Connection& connection, std::vector<WorkerNews>& news);
  void take_line(Connection& connection, std::string_view line, std::vector<WorkerNews>& news);
  void send(const WorkerName& name, std::string line);

  int listener_;
  std::list<Connection> connections_;
};

}  // namespace orrery::cli
