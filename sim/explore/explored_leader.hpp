// One leader of an explored world: the real controller, driver and session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/control/controller.hpp"
#include "core/driver/driver.hpp"
#include "core/driver/planner.hpp"
#include "core/driver/state_store.hpp"
#include "core/driver/world.hpp"
#include "core/leader/leader.hpp"
#include "sim/agents/messages.hpp"
#include "sim/control/host_watch.hpp"
#include "sim/explore/bounds.hpp"
#include "sim/explore/explored_journal.hpp"

namespace orrery::sim {

class ExploredLeader;

/// What a leader finds around it.
class LeaderSurroundings {
 public:
  virtual ~LeaderSurroundings() = default;
  virtual Instant now() const = 0;
  virtual const ExploredJournal& journal() const = 0;
  virtual ExploredJournal& journal_to_write() = 0;
  virtual std::unique_ptr<Policy> policy() const = 0;

  /// An order leaves the controller, before the session has it.
  virtual void issued(ExploredLeader& leader, const Command& command) = 0;

  /// Something for a node's agent.
  virtual void say(const ExploredLeader& leader, NodeId node, Message message) = 0;

  /// The leader ends its connection to the node.
  virtual void hang_up(const ExploredLeader& leader, NodeId node) = 0;
};

/// Plans at once, each time with a policy of its own, so that nothing but the state counts.
class PromptPlanner final : public Planner {
 public:
  explicit PromptPlanner(const LeaderSurroundings& around) : around_(around) {}

  void ask(const PlanRequest& request, Controller& controller) override;

  bool is_busy() const override { return answer_.has_value(); }

  std::optional<PlanAnswer> take(Instant now) override;

  Instant ready_at() const override { return answer_ ? Instant::zero() : Instant::never(); }

 private:
  const LeaderSurroundings& around_;
  std::optional<PlanProposed> answer_;
};

/// One life of a leader. A copy is only kept (see Part): its references are those of the original.
class ExploredLeader final : private World, private NodeStreams, private StateStore {
 public:
  /// `slot`: its place among the leaders that live now.
  ExploredLeader(LeaderSurroundings& around, std::size_t slot, LeaderNumber number)
      : around_(around),
        slot_(slot),
        number_(number),
        planner_(around),
        driver_(controller_, *this, *this, planner_, nullptr, DriverOptions{}) {}

  /// Replays the journal, takes the next epoch and appends its first records. Errors: the store's.
  Status begin(const Settings& settings, const std::vector<NodeGroup>& groups);

  std::size_t slot() const { return slot_; }

  LeaderNumber number() const { return number_; }

  Epoch epoch() const { return epoch_; }

  const State& state() const { return controller_.state(); }

  /// More is durable: its epoch may be safe, and orders may go out.
  void committed();

  /// The last record that it knows to be durable.
  Sequence durable() const override;

  bool is_established() const { return leader_ && leader_->is_established(); }

  /// Another one has opened the journal: it grants no lease from `grants_until` on, and `durable`
  /// is all that it will ever know to be durable.
  void succeeded(Instant grants_until, Sequence durable);

  /// Whether a turn may do something.
  bool has_work() const;

  /// One turn of the driver. Refused: its life is over.
  Turn turn();

  bool timer_is_due() const { return is_established() && leader_->next_deadline() <= now(); }

  void time_reached() { leader_->time_reached(now()); }

  void connected(NodeId node) { leader_->connected(node); }

  void disconnected(NodeId node) { leader_->disconnected(node); }

  bool is_open(NodeId node) const { return leader_ && leader_->is_open(node); }

  /// Takes what a node's agent says.
  void heard(const Message& message);

  /// A client asks for something.
  void asked(EventBody request) {
    leader_->told(Origin::External, std::move(request), now(), now());
  }

  void save(ByteWriter& out) const;

 private:
  // World
  Instant now() const override { return around_.now(); }

  void issue(const Command& command) override;

  void withheld(JobId job, Incarnation incarnation) override {
    leader_->withheld(job, incarnation);
  }

  bool wait_events(Instant deadline, std::vector<Event>& events) override;

  // NodeStreams
  void renew(NodeId node, Instant heard_of, bool registers) override;
  void announce(NodeId node) override;

  void tell_job(NodeId, const JobState&) override {}

  void tell_members(NodeId, const JobState&) override {}

  void order(NodeId node, const std::shared_ptr<const Command>& command) override;

  void close(NodeId node, std::string_view) override { around_.hang_up(*this, node); }

  // StateStore
  Status append(Epoch writer, std::span<const StoredRecord> records) override;
  Status sync() override;
  Status read_from(Sequence first, const std::function<bool(const StoredRecord&)>& visit) override;

  Status save_snapshot(const StoredSnapshot&) override { return Done{}; }

  Result<std::optional<StoredSnapshot>> latest_snapshot() override {
    return std::optional<StoredSnapshot>{};
  }

  LeaderSurroundings& around_;
  std::size_t slot_;
  LeaderNumber number_;
  Epoch epoch_;
  Controller controller_;
  PromptPlanner planner_;
  Driver driver_;
  std::optional<Leader> leader_;
  Sequence begun_at_;  ///< The record that begins its epoch.
  Instant grants_until_ = Instant::never();
  Sequence durable_then_;  ///< When it was succeeded.
  Instant wake_;           ///< Of its driver, after the last turn.
  bool idle_ = false;      ///< The last turn found nothing.
};

}  // namespace orrery::sim
