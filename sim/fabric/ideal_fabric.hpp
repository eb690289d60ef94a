// L0: nothing is shared, so every stage is done after the time that it takes alone.
#pragma once

#include <vector>

#include "sim/fabric/exchange_load.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/fabric/slots.hpp"
#include "sim/fabric/stage_heap.hpp"
#include "sim/fabric/topology.hpp"

namespace orrery::sim {

/// Links have no capacity here: `set_link_share` changes nothing, and `link_use` is 0.
class IdealFabric : public Fabric {
 public:
  explicit IdealFabric(Topology topology);

  double step_alone_s(const Stage& stage) const override;
  StageId begin(const Stage& stage, Instant now) override;
  double steps_done(StageId id, Instant now) override;

  double pace(StageId id) override { return 1 / running_[id.value].step_s; }

  void end(StageId id, Instant now) override;
  Instant next(Instant limit) override;
  void pass_to(Instant now, std::vector<StageId>& complete) override;

  void set_link_share(NodeId, double, Instant) override {}

  std::vector<std::string> link_names() const override { return topology_.link_names(); }

  void link_use(std::vector<double>& shares) const override;
  std::vector<std::string> approximations() const override;

 private:
  struct Running {
    Instant begun;
    double steps = 0;
    double step_s = 0;
  };

  Topology topology_;
  mutable ExchangeLoads loads_;  // Its scratch memory only.
  Slots<Running> running_;
  StageHeap heap_;
  std::uint64_t begun_ = 0;
};

}  // namespace orrery::sim
