// L0: nobody shares anything, so every stage is done after the time that it takes alone.
#pragma once

#include <vector>

#include "sim/fabric/exchange_load.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/fabric/stage_heap.hpp"
#include "sim/fabric/topology.hpp"

namespace orrery::sim {

/// Links have no capacity here: `set_link_share` changes nothing, and `link_use` is 0.
class IdealFabric : public Fabric {
 public:
  explicit IdealFabric(Topology topology);

  IdealFabric(const IdealFabric&) = delete;
  IdealFabric& operator=(const IdealFabric&) = delete;

  double step_alone_s(const Stage& stage) const override;
  StageId begin(const Stage& stage, Instant now) override;
  double steps_done(StageId id, Instant now) override;
  double pace(StageId id) override;
  void end(StageId id, Instant now) override;
  Instant next(Instant limit) override;
  void pass_to(Instant now, std::vector<StageId>& complete) override;
  void set_link_share(NodeId node, double share, Instant now) override;
  std::vector<std::string> link_names() const override;
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
  std::vector<Running> running_;
  std::vector<std::uint32_t> free_;
  StageHeap heap_;
  std::uint64_t begun_ = 0;
};

}  // namespace orrery::sim
