// Carries what happens in a modelled cluster over to processes, and what happens to processes back.
#pragma once

#include <csignal>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/language/spec/scenario.hpp"
#include "sim/faults/event_triggers.hpp"
#include "sim/model/simulated_cluster.hpp"
#include "tools/cluster_world/daemons.hpp"
#include "tools/cluster_world/emulated_workers.hpp"
#include "tools/cluster_world/journal_reader.hpp"
#include "tools/cluster_world/node_links.hpp"
#include "tools/cluster_world/requests.hpp"
#include "tools/cluster_world/store_disk.hpp"

namespace orrery::cli {

/// The model decides what workers do and what breaks; processes, daemons and the controller's HTTP
/// server are made to follow:
///
///     the model says                      what is done
///     a worker is ready                   its process says hello to its agent
///     a worker ends                       its process exits, or is ended by the signal
///     progress, profilings, sub-masters   its process says so to its agent
///     a job, a request of a user          HTTP to the controller
///     a node or an agent goes down        SIGKILL to all of it
///     the controller crashes, pauses      SIGKILL, SIGSTOP
///
///     what happened                       the model is told
///     a process came                      that the agent has created this worker
///     SIGTERM came, or it is gone         that it was asked, that it was killed
///     its agent told it something         the same
///
/// Used by one thread. Its time is that of a monotonic clock, from `begin` on.
class ClusterWorld final : private sim::ClusterListener {
 public:
  /// All outlive the world. `scenario`: in the measure of real time. `links`: null where no fault
  /// needs them.
  ClusterWorld(const scenarios::Scenario& scenario,
               sim::JobSource& source,
               const std::string& worker_program,
               const std::vector<NodeGroup>& groups,
               const std::string& folder,
               Daemons& daemons,
               NodeLinks* links,
               StoreDisk& disk,
               EmulatedWorkers& workers,
               Requests& requests,
               JournalReader& journal);

  /// What happened to processes and on the journal since the last call, and what the model says
  /// that happens up to `now`.
  void turn(Instant now);

  /// When the model says something next.
  Instant next(Instant limit) { return cluster_.next(limit); }

  /// Whether something may still happen that jobs wait for.
  bool work_left() const;

  /// Faults of the scenario that have struck since the last call, by index.
  std::vector<std::uint32_t> take_struck() { return std::exchange(struck_, {}); }

  void strike(const sim::Strike& strike, Instant now) {
    cluster_.strike(strike.index, std::max(strike.at, now));
  }

  /// The name that a submission had in the workload's file.
  std::string take_label(std::uint64_t request) { return cluster_.take_label(request); }

  std::uint64_t workload_refused() const { return cluster_.workload_refused(); }

  const std::vector<std::string>& warnings() const { return cluster_.warnings(); }

  const Errors& errors() const { return errors_; }

 private:
  /// Something that is to be done at a time.
  struct Act {
    enum class Kind : std::uint8_t {
      StartAgent,
      StartController,
      WakeController,
      Clean,
      MendLink,
      ClearDisk,
      EndWorker,
    };
    Instant at;
    Kind kind = Kind::StartAgent;
    NodeId node;
    JobId job;
    scenarios::LinkDirection direction = scenarios::LinkDirection::Both;
    WorkerName worker = {};
    std::int32_t exit_code = 0;
  };

  struct Submission {
    std::uint64_t request = 0;
    std::shared_ptr<const JobSpec> spec;  ///< As the controller gets it.
  };

  // What the model tells.
  void on_outside(EventBody body) override;
  void on_workers(JobId job,
                  std::span<const sim::ModelWorker> workers,
                  WorkerFact fact,
                  std::int32_t exit_code,
                  Instant occurred_at,
                  const Diagnosis& diagnosis) override;
  void say_diagnosis(const WorkerName& worker, const Diagnosis& diagnosis);
  void on_progress(NodeId from, ProgressReported progress) override;

  // The leader suspects, by what workers measure.
  void on_suspected(NodeId, WorkerSuspected) override {}

  void on_sub_master(NodeId node, const sim::ModelWorker& master, SubMasterSaid said) override;
  void on_node_down(NodeId node) override;
  void on_node_up(NodeId node) override;

  void on_devices_lost(DevicesLost lost) override { note(name_lost(lost.node, lost.devices)); }

  void on_devices_back(NodeId node) override { note(name_lost(node, 0)); }

  void on_node_leaving(NodeLeaving leaving) override {
    daemons_.signal_agent(leaving.node, SIGUSR1);
  }

  void on_fault(const scenarios::Fault& fault) override;
  void cut_links(const scenarios::Fault& fault);
  Status name_lost(NodeId node, std::uint64_t devices) const;

  void on_struck(std::uint32_t index) override { struck_.push_back(index); }

  // What processes tell.
  void take_workers();
  void came(const EmulatedWorker& worker);
  void heard(const EmulatedWorker& worker, const std::string& line);
  const JobSpec* spec_of(JobId job) const;
  std::shared_ptr<const JobSpec> runnable(const JobSpec& spec) const;

  // The controller.
  void follow_journal();
  void submit_waiting();
  void take_answers();
  void answered(std::deque<Submission> asked, const RequestAnswer& answer);
  void post(const std::string& target, std::string body);
  void ask(const std::string& method, const std::string& target, std::string body);
  void measure();
  void act_on_daemons();
  bool is_loss_known(const Act& act) const;
  void note(const Status& done);

  const scenarios::Scenario& scenario_;
  const std::string& worker_program_;
  const std::vector<NodeGroup>& groups_;
  const std::string& folder_;
  Daemons& daemons_;
  NodeLinks* links_;
  StoreDisk& disk_;
  EmulatedWorkers& workers_;
  Requests& requests_;
  JournalReader& journal_;
  std::vector<Instant> down_at_;  ///< By node; never: it was not.
  std::deque<Submission> unsent_;
  std::map<std::uint64_t, std::deque<Submission>> unanswered_;  ///< By number of the request.
  std::deque<WorkerNews> early_;                                ///< Not taken yet.
  std::map<JobId, WorkerName> speakers_;  ///< Who told of a job's progress last.
  std::deque<Act> acts_;
  std::vector<std::uint32_t> struck_;
  bool any_watched_ = false;  ///< Some job wants hangs or stragglers to be found.
  Instant measure_at_;
  Errors errors_;
  sim::SimulatedCluster cluster_;
};

}  // namespace orrery::cli
