// L2: bytes flow through SimGrid's network, max-min fair, beside our own clock.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sim/fabric/fabric.hpp"
#include "sim/fabric/slots.hpp"
#include "sim/fabric/stage_heap.hpp"
#include "sim/simgrid/engine.hpp"
#include "sim/simgrid/flow_links.hpp"
#include "sim/simgrid/platform.hpp"
#include "sim/simgrid/route_cache.hpp"
#include "sim/simgrid/stage_flows.hpp"

namespace orrery::sim {

/// Each pair of nodes that a stage sends between is one flow of all the stage's bytes, in a paced
/// stage no faster than the steps need them. A stage is complete when its flows and its compute
/// are. Compute goes by our own clock, and so does every flow that gets all it asks for on each of
/// its links: max-min fairness gives it exactly that, and SimGrid need not know of it. A flow goes
/// into SimGrid when a link on its way becomes contended, with those links of its way that are, and
/// stays there. docs/simgrid.md proves it; a test holds it against `everything_in_simgrid`.
class FluidFabric : public Fabric {
 public:
  struct Options {
    /// For comparison: every flow goes into SimGrid from node to node, with its whole way.
    bool everything_in_simgrid = false;
  };

  /// Takes the latencies off the platform's links in SimGrid, which would share by them, and adds
  /// them to the stages instead.
  FluidFabric(std::unique_ptr<SimGridEngine> engine, Platform platform, Options options);

  FluidFabric(std::unique_ptr<SimGridEngine> engine, Platform platform)
      : FluidFabric(std::move(engine), std::move(platform), Options()) {}

  double step_alone_s(const Stage& stage) const override;
  StageId begin(const Stage& stage, Instant now) override;
  double steps_done(StageId id, Instant now) override;
  double pace(StageId id) override;
  void end(StageId id, Instant now) override;
  Instant next(Instant limit) override;
  void pass_to(Instant now, std::vector<StageId>& complete) override;
  void set_link_share(NodeId node, double share, Instant now) override;

  double node_flops(NodeId node) const override { return platform_.node_flops(node); }

  std::vector<std::string> link_names() const override { return platform_.link_names(); }

  void link_use(std::vector<double>& shares) const override;
  std::vector<std::string> approximations() const override;

  const Platform& platform() const { return platform_; }

  /// Flows that were begun, and those of them that went into SimGrid; for measurements.
  std::uint64_t flows_begun() const { return flows_begun_; }

  std::uint64_t flows_in_simgrid() const { return flows_in_simgrid_; }

 private:
  static constexpr double kAny = std::numeric_limits<double>::infinity();

  struct Flow {
    std::uint32_t stage = 0;
    std::uint32_t generation = 0;  // Of the slot; SimGrid's late callbacks have an older one.
    NodeId from;
    NodeId to;
    double payload = 0;   // Bytes of the whole stage.
    double left = 0;      // Bytes at `since`; of a flow in SimGrid as it was put in.
    double rate_max = 0;  // Of this flow alone; 0: none.
    double demand = 0;    // Bytes per second that it asks for.
    Instant since;
    std::vector<std::uint32_t> links;
    std::vector<std::uint32_t> wired;   // Those of them that SimGrid knows of.
    SimGridEngine::Started in_simgrid;  // Null: it goes by our clock.
  };

  struct Running {
    bool ready = false;  // Complete; the caller has not heard.
    bool paced = true;
    Instant begun;
    double steps = 0;
    double own_s = 0;                  // Time that the stage takes beside its flows.
    double tail_s = 0;                 // After the last byte: latencies that flows did not pay.
    double latency_s = 0;              // Of a step.
    double step_s = 0;                 // Alone.
    Stage shape;                       // Without exchanges: to work the step out anew.
    std::vector<std::uint32_t> flows;  // Those that still flow.
  };

  void free_stage(std::uint32_t slot);
  void free_flow(std::uint32_t slot);
  void start_flow(std::uint32_t stage, const StageFlows::Pair& pair, double cap, Instant now);
  void put_into_simgrid(std::uint32_t slot);
  SimGridEngine::Started start_in_simgrid(std::uint32_t slot);
  void settle_contention(const std::vector<std::uint32_t>& links);
  void take_out(std::uint32_t slot);
  void finish_flow(std::uint32_t slot);
  void take_ended();
  void advance(Instant limit, bool stop_when_ready);
  void sync(Instant now);
  double least_bandwidth(const Flow& flow) const;
  double step_of_live_flows(const Running& stage);
  double left_of(const Flow& flow) const;
  double rate_of(const Flow& flow) const;
  void rework(std::uint32_t stage);
  void schedule(std::uint32_t slot);

  std::unique_ptr<SimGridEngine> engine_;
  Platform platform_;
  Options options_;
  FlowLinks links_;
  mutable RouteCache routes_;
  mutable StageFlows stage_flows_;              // Scratch only.
  std::vector<double> load_;                    // By link, scratch: 0 between calls.
  std::vector<simgrid::s4u::LinkInRoute> way_;  // Scratch.
  Instant clock_;
  Slots<Running> stages_;
  Slots<Flow> flows_;
  StageHeap flow_ends_;         // Of flows that go by our clock.
  StageHeap stage_ends_;        // Of stages without flows under way.
  std::vector<StageId> ready_;  // At `clock_` or before.
  std::size_t in_simgrid_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t flows_begun_ = 0;
  std::uint64_t flows_in_simgrid_ = 0;
};

}  // namespace orrery::sim
