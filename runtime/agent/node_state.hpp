// The state folder of a node's agent.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/record/event.hpp"
#include "runtime/shim/durable_file.hpp"

namespace orrery::runtime {

/// What an agent must not forget: file `node`.
struct NodeRecord {
  std::uint64_t session = 0;  ///< Of the last life.
  bool known = false;         ///< Whether a controller has ever welcomed the node: then the rest.
  NodeId node;
  Settings settings;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("session", self.session);
    v.field("known", self.known);
    v.field("node", self.node);
    v.field("settings", self.settings);
  }
};

/// Holds the folder for one agent at a time:
///
///   lock, id, node  this
///   lease           lease_file.hpp
///   socket          worker_socket.hpp
///   workers/        worker_table.hpp
///   jobs/           known_jobs.hpp
///   environments/, preparing/, prepared/   environments.hpp
class NodeState {
 public:
  /// Makes the folder where there is none, takes its lock and begins a new life: its session number
  /// is on disk before any controller hears of it. Errors: another agent holds the folder, or it
  /// cannot be written.
  static Result<NodeState> open(const std::string& folder);

  const NodeRecord& record() const { return record_; }

  /// Drawn when the folder was made: tells it from any other that a node of this name had. Not 0.
  std::uint64_t id() const { return id_; }

  /// Begins one more life inside this one, for a node that starts over; its number is above
  /// `above`.
  Status begin_session(std::uint64_t above = 0);

  /// A controller has told this node's name and number.
  Status know(NodeId node, const Settings& settings);

  /// No controller is known any more.
  Status forget();

  std::string path(const char* name) const { return folder_ + "/" + name; }

 private:
  NodeState() = default;

  Status learn_id();
  Status save();

  std::uint64_t id_ = 0;
  std::string folder_;  ///< Absolute.
  Descriptor lock_;
  NodeRecord record_;
};

}  // namespace orrery::runtime
