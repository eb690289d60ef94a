// Level L3 of what carries bytes: every step of every stage is executed, message by message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/fabric/fabric.hpp"
#include "sim/fabric/message_plan.hpp"
#include "sim/fabric/slots.hpp"
#include "sim/simgrid/message_clock.hpp"
#include "sim/simgrid/platform.hpp"

namespace orrery::sim {

/// Each message of a step's exchanges (message_plan.hpp) is a communication of its own in SimGrid,
/// sent when those that it waits for have arrived. Compute is a time of our own heap, and so is the
/// exchange inside nodes, which comes before that between nodes.
///
/// What may hide of the exchange is a share of each message that is sent from the beginning of the
/// step, beside the compute; the rest is sent when both are done. So one step alone takes
/// max(compute, overlap x exchange) + (1 - overlap) x exchange, which is `step_seconds`, and a
/// message's latency is paid in both parts. A stage that is not paced sends everything from the
/// beginning, once.
///
/// `steps_done` counts whole steps and, of the present one, the shares of compute time and of
/// messages that are done.
///
/// `next` may return earlier than any stage is complete, when another user of the clock has news.
///
/// Costs a few microseconds for each message: for single jobs and small clusters.
class MessageFabric final : public Fabric, private ClockUser {
 public:
  struct Settings {
    /// Trees, broadcasts and chains go in so many pieces, which follow each other; 0: in
    /// `best_pieces` for the way between the first two members, at most `pieces_max`.
    std::uint32_t pieces = 0;
    std::uint32_t pieces_max = 32;
  };

  /// Both outlive the fabric.
  MessageFabric(MessageClock& clock, const Platform& platform, Settings settings);
  ~MessageFabric() override;

  double step_alone_s(const Stage& stage) const override;
  StageId begin(const Stage& stage, Instant now) override;
  double steps_done(StageId id, Instant now) override;
  double pace(StageId id) override;
  void end(StageId id, Instant now) override;

  Instant next(Instant limit) override { return clock_.run(limit); }

  void pass_to(Instant now, std::vector<StageId>& complete) override;
  void set_link_share(NodeId node, double share, Instant now) override;

  double node_flops(NodeId node) const override { return platform_.node_flops(node); }

  std::vector<std::string> link_names() const override { return platform_.link_names(); }

  void link_use(std::vector<double>& shares) const override;
  std::vector<std::string> approximations() const override;

  /// Messages sent so far.
  std::uint64_t messages_sent() const { return sent_; }

 private:
  /// Of one step: what hides behind the compute, and what follows it.
  enum class Part : std::uint8_t { Hidden, Open };

  struct Running {
    bool live = false;
    std::uint32_t birth = 0;  ///< Times of earlier stages of this number are void.
    Stage stage;
    MessagePlan plan;
    double alone_s = 0;      ///< One step of it.
    double exchange_s = 0;   ///< Of that, between nodes.
    double whole = 0;        ///< Steps that are done.
    double size = 1;         ///< Of the present step: below 1 for a part, all of them if unpaced.
    double begun_s = 0;      ///< The present step.
    double last_step_s = 0;  ///< How long the last whole one took; 0: there was none.
    Part part = Part::Hidden;
    bool computed = false;                     ///< The present step's compute is done.
    bool exchanged = false;                    ///< All messages of this part have arrived.
    std::uint32_t missing = 0;                 ///< Messages of this part that have not arrived.
    std::vector<std::uint32_t> waits;          ///< By message: for so many more.
    std::vector<simgrid::s4u::CommPtr> comms;  ///< By message; null unless it is under way.
  };

  enum class TimerKind : std::uint8_t { Compute, Local, Whole };

  struct Timer {
    double at_s = 0;
    std::uint64_t order = 0;
    TimerKind kind = TimerKind::Compute;
    std::uint32_t stage = 0;
    std::uint32_t birth = 0;
  };

  double wake_s() const override;
  void wake(double now_s) override;

  bool has_news() const override { return !complete_.empty(); }

  std::size_t under_way() const override { return under_way_; }

  bool has_actors() const override { return false; }

  /// Whether the message goes through the network. A platform file may have no storage; then what
  /// is saved takes no time.
  bool travels(const PlannedMessage& message) const {
    const bool stored = message.from.is_none() || message.to.is_none();
    return !stored || platform_.has_storage();
  }

  MessagePlan plan(const Stage& stage) const;
  static bool is_later(const Timer& a, const Timer& b);
  double exchange_alone_s(const MessagePlan& plan, double share) const;
  double round_alone_s(const MessagePlan& plan,
                       const std::vector<std::uint32_t>& round,
                       double share) const;
  double alone_s(const Stage& stage, const MessagePlan& plan) const;
  double part_share(const Running& running) const;
  void set_timer(std::uint32_t stage, TimerKind kind, double at_s);
  void begin_step(std::uint32_t stage);
  void begin_part(std::uint32_t stage, Part part);
  void send_first(std::uint32_t stage);
  void send(std::uint32_t stage, std::uint32_t message);
  void arrive(std::uint32_t stage, std::uint32_t message);
  void go_on(std::uint32_t stage);
  void finish_step(std::uint32_t stage);
  void complete(std::uint32_t stage);
  void release(std::uint32_t stage);

  MessageClock& clock_;
  const Platform& platform_;
  Settings settings_;
  Slots<Running> running_;
  std::vector<Timer> timers_;  ///< A heap, the earliest first.
  std::uint64_t timers_set_ = 0;
  std::vector<StageId> complete_;   ///< And not yet told.
  std::vector<double> bandwidths_;  ///< By link, as built.
  std::vector<double> node_shares_;
  std::vector<std::vector<std::uint32_t>> nodes_at_;  ///< By link; made when first needed.
  std::size_t under_way_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace orrery::sim
