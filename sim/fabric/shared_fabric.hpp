// L1: links are shared by demand. Each link knows what the stages that use it ask for; where that
// is more than there is, they share it fairly, and each stage goes as fast as its tightest link
// lets it.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/fabric/exchange_load.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/fabric/fair_share.hpp"
#include "sim/fabric/slots.hpp"
#include "sim/fabric/stage_heap.hpp"
#include "sim/fabric/topology.hpp"

namespace orrery::sim {

/// The time of a step alone is that of the links as they are. A paced stage asks each of its links
/// for the bytes of a step in the time of a step; one that is not for the bytes of a step in the
/// time that they take alone, until they are through.
///
/// Each link is shared by itself (max-min fair between flows that ask for so much): what a stage
/// leaves unused because another link is tighter is not used. So a stage that joins slows
/// others or leaves them alone, never speeds them up, and a stage that ends gives back exactly what
/// there was. On a change only stages are looked at that use a link whose level changed; a link
/// that was and is below its capacity costs one addition.
class SharedFabric : public Fabric {
 public:
  explicit SharedFabric(Topology topology);

  double step_alone_s(const Stage& stage) const override;
  StageId begin(const Stage& stage, Instant now) override;
  double steps_done(StageId id, Instant now) override;
  double pace(StageId id) override;
  void end(StageId id, Instant now) override;
  Instant next(Instant limit) override;
  void pass_to(Instant now, std::vector<StageId>& complete) override;
  void set_link_share(NodeId node, double share, Instant now) override;

  std::vector<std::string> link_names() const override { return topology_.link_names(); }

  void link_use(std::vector<double>& shares) const override;
  std::vector<std::string> approximations() const override;

  /// Stages whose speed was worked out anew since the beginning; for measurements.
  std::uint64_t rerated() const { return rerated_; }

 private:
  static constexpr double kAll = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t kNoLink = 0xffffffff;

  // A stage's place in a link's lists.
  struct Member {
    std::uint32_t slot = 0;
    std::uint32_t use = 0;  // Index into the stage's uses.
  };

  struct Link {
    double share = 1;                    // What is left of its bandwidth,
    std::int64_t capacity = kWholeLink;  // and the same in units.
    std::int64_t asked = 0;
    double level = kAll;  // Of a flow at most, in units.
    bool dirty = false;
    std::vector<LinkDemand> demands;
    std::vector<Member> members;  // Beside `demands`.
  };

  // A link of a stage.
  struct Use {
    std::uint32_t link = 0;
    std::uint32_t place = 0;  // In the link's lists.
    std::uint32_t flows = 0;
    double bytes = 0;  // Of a step.
  };

  enum class Part : std::uint8_t {
    Paced,  // Bytes flow evenly until the end.
    Bytes,  // Bytes flow as fast as they can.
    Rest,   // They are through; what is left goes by the clock.
  };

  struct Running {
    Part part = Part::Paced;
    bool slowed = false;   // Its speed was below 1 at some time.
    bool touched = false;  // Is in `touched_`.
    bool whole = false;    // All of its links are to be looked at.
    double speed = 1;      // What it gets of what it asks for.
    double wanted = 1;     // The same after the changes of this instant.
    std::uint32_t tightest = kNoLink;
    Instant begun;
    Instant since;          // `left` is of this instant.
    double left = 0;        // Seconds of this part at speed 1.
    double total = 0;       // The same at its beginning.
    double step_s = 0;      // Alone.
    double exchange_s = 0;  // Of that, between nodes:
    double latency_s = 0;   // latencies, and
    double limit_s = 0;     // at least so long for the bytes.
    Stage shape;            // Without exchanges.
    std::uint64_t order = 0;
    std::vector<Use> uses;
  };

  double transfer_s(std::uint32_t link, double bytes) const;
  void time_alone(Running& running) const;
  void join(std::uint32_t slot);
  void leave(std::uint32_t slot);
  void rework(std::uint32_t slot);
  void release(std::uint32_t slot);
  void mark(std::uint32_t link);
  void touch(std::uint32_t slot);
  void advance(Instant now);
  void settle_changes();
  void settle_link(std::uint32_t link);
  void settle_stage(std::uint32_t slot);
  void bytes_are_through(std::uint32_t slot);
  double left_at(std::uint32_t slot, Instant now) const;

  Topology topology_;
  mutable ExchangeLoads loads_;  // Its scratch memory only.
  Instant clock_;
  std::vector<Link> links_;
  Slots<Running> running_;
  std::vector<std::uint32_t> dirty_;    // Links that changed at `clock_`.
  std::vector<std::uint32_t> touched_;  // Stages that those may have slowed or sped up.
  StageHeap heap_;
  std::uint64_t begun_ = 0;
  std::uint64_t rerated_ = 0;
};

}  // namespace orrery::sim
