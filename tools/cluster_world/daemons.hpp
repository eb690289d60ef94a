// The controller and the agents of one scenario as processes, and what faults do to them.
#pragma once

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/result.hpp"
#include "core/cluster/resources.hpp"
#include "tools/cluster_world/node_links.hpp"
#include "tools/cluster_world/settings_files.hpp"
#include "tools/processes/child_process.hpp"

namespace orrery::cli {

/// Where the programs lie that a cluster is made of.
struct ClusterPrograms {
  std::string node;    ///< orrery-node.
  std::string worker;  ///< orrery-emulated-worker.

  /// Those beside this program. Errors: one is missing; what to build or install.
  static Result<ClusterPrograms> find();
};

/// Whether this process may make network namespaces, which keep the ports of nodes apart.
bool may_make_networks();

/// The folder of a run's files: a temporary one that goes with it, or one that stays.
class RunFolder {
 public:
  /// `keep`: the folder to make, which stays, for looking at journal and logs; empty: a temporary
  /// one. Errors: it cannot be made, or has something in it.
  static Result<RunFolder> make(const std::string& keep);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::string& path() const { return path_; }

 private:
  RunFolder(std::string path, bool keep) : path_(std::move(path)), keep_(keep) {}

  std::string path_;
  bool keep_;
};

/// All daemons of one run. Destruction ends them and every process of their workers.
class Daemons {
 public:
  /// `links`: what joins the nodes with the controller, and outlives this; null: agents meet it at
  /// a Unix socket, each in a network of its own.
  Daemons(const ClusterPrograms& programs,
          const ClusterAddresses& addresses,
          std::size_t nodes,
          const NodeLinks* links);
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;
  ~Daemons();

  /// Errors: a program that cannot be started.
  Status start_controller() { return controller_->start(); }

  Status start_agent(NodeId node) { return agents_[node.index()].start(); }

  bool controller_runs() const { return controller_->runs(); }

  bool agent_runs(NodeId node) const { return agents_[node.index()].runs(); }

  bool controller_is_ready() { return controller_->look_ready(); }

  bool agent_is_ready(NodeId node) { return agents_[node.index()].look_ready(); }

  void signal_controller(int number) const { controller_->signal(number); }

  void signal_agent(NodeId node, int number) const { agents_[node.index()].signal(number); }

  /// SIGKILL, and waits for the end.
  void kill_controller() { end(*controller_); }

  /// SIGTERM, and waits for the end; SIGKILL where it does not come within seconds.
  void stop_controller();

  void kill_agent(NodeId node) { end(agents_[node.index()]); }

  /// The machine loses power: its agent, its shims and its workers end at once, without a word.
  void kill_node(NodeId node);

  /// Nothing is left on its disk below `part` of its folder; after `kill_node`.
  void empty_disk(NodeId node, const std::string& part);

  /// The controller or an agent that has ended by itself, in words; empty: none has.
  std::string ended_by_itself();

 private:
  static void end(ChildProcess& process);

  std::string folder_;
  std::unique_ptr<ChildProcess> controller_;
  std::vector<ChildProcess> agents_;
};

}  // namespace orrery::cli
