// The Unix socket at which workers talk to their agent: lines of JSON both ways.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/agent/agent.hpp"
#include "core/base/enum_names.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/record/event.hpp"
#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {

/// {"hello":{"worker":"JOB-INCARNATION-RANK","token":"..."}}: names the worker; the first message
/// of each connection. The token is the worker's ORRERY_TOKEN: names can be guessed.
struct SaidHello {};

/// {"profiling":{"step_time_s":0.1,...}}
struct SaidProfiling {
  std::map<std::string, double> values;
};

/// {"progress":{"done":12.0,"rate":3.1,"efficiency":1,"epoch":0,"remaining_s":5,
/// "checkpointed":false}}; only "done" must be there.
struct SaidProgress {
  double done = 0;
  double rate = 0;
  double efficiency = 1;
  std::int32_t epoch = 0;
  std::optional<double> remaining_s;
  bool checkpointed = false;
};

/// {"sub_master":{"role":"actor","incident":3,"word":"ask_state"}}
struct SaidBySubMaster {
  std::string role;
  std::uint32_t incident = 0;
  SubMasterMessage word = SubMasterMessage::AskState;
};

/// {"endpoint":{"port":40123,"certificate":"..."}}: it takes calls there; docs/calls.md. The
/// certificate is empty or the 64 hexadecimal digits of its SHA-256.
struct SaidEndpoint {
  std::int32_t port = 0;
  std::string certificate;
};

enum class TurnWord : std::uint8_t {
  Ask,      ///< It waits for the turn on its devices.
  Renew,    ///< It works on.
  Release,  ///< It has done its part, or waits no longer.
};

/// {"turn":{"word":"ask","lease_s":30}}: the lease is what it may be silent for while it has the
/// turn, 1 to 3600 s; only "word" must be there.
struct SaidTurn {
  TurnWord word = TurnWord::Ask;
  Duration lease = Duration::seconds(30);
};

/// {"diagnosis":{"fault":"peer","role":"trainer","rank":1,"message":"..."}}: whose fault it will be
/// that the worker ends. Role and rank inside it are there with "peer" alone.
struct SaidDiagnosis {
  Blame fault = Blame::Mine;
  std::string role;
  std::int32_t rank = 0;
  std::string message;  ///< As Diagnosis::message.
};

/// What a worker has said.
struct WorkerWord {
  WorkerName worker;
  std::variant<SaidHello,
               SaidProfiling,
               SaidProgress,
               SaidBySubMaster,
               SaidEndpoint,
               SaidTurn,
               SaidDiagnosis>
      word;
};

/// Listens; takes words of workers that run, and hands lines to them. A line that is none, or that
/// comes from another process, is answered by {"error":"..."}; what is too long, too many or too
/// slow ends its connection. Used by one thread.
class WorkerSocket {
 public:
  /// `user`: the user that may connect besides this program's own user and root; empty: none.
  /// Errors: the path is too long for a socket, or cannot be bound.
  static Result<WorkerSocket> open(const std::string& path, std::optional<uid_t> user);

  void append_descriptors(std::vector<pollfd>& polled) const;

  /// The secret of a worker that runs here, as long as the call lasts; null where none of this name
  /// does.
  using SecretOf = std::function<const std::string*(const WorkerName&)>;

  /// Serves connections of which a descriptor is in `readable` (ascending).
  std::vector<WorkerWord> take(const std::vector<int>& readable, const SecretOf& secret_of);

  /// The same for whatever has come by now, on every connection and on those that are not accepted
  /// yet: what a process wrote before its end was seen.
  std::vector<WorkerWord> take_all(const SecretOf& secret_of);

  /// Sends a line, without its end, to all connections of a worker. False where it has none.
  bool send(const WorkerName& worker, std::string_view line);

  /// Answers a word that made no sense.
  void complain(const WorkerName& worker, const std::string& what);

 private:
  struct Connection {
    Descriptor descriptor;
    std::string in;
    std::string out;
    std::optional<WorkerName> worker;
    bool over = false;
  };

  WorkerSocket() = default;

  void accept_all();
  bool read_from(Connection& connection);
  bool take_from(Connection& connection, const SecretOf& secret_of, std::vector<WorkerWord>& words);
  void drop_over();
  void take_line(Connection& connection,
                 std::string_view line,
                 const SecretOf& secret_of,
                 std::vector<WorkerWord>& words);
  static void put(Connection& connection, std::string_view line);
  static void flush(Connection& connection);

  Descriptor listener_;
  std::optional<uid_t> user_;
  std::list<Connection> connections_;
};

}  // namespace orrery::runtime

template <>
struct orrery::EnumNames<orrery::runtime::TurnWord> {
  static constexpr std::array kNames{"ask", "renew", "release"};
};
