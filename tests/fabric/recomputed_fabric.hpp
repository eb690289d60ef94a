// L1 the slow way, for comparison: after each change everything is worked out anew.
#pragma once

#include <map>
#include <vector>

#include "sim/fabric/exchange_load.hpp"
#include "sim/fabric/fair_share.hpp"
#include "sim/fabric/topology.hpp"

namespace orrery::sim::test {

/// Stages by numbers that the caller gives.
class RecomputedFabric {
 public:
  RecomputedFabric(const scenarios::NetworkSpec& spec, std::int32_t nodes);

  void begin(int number, const Stage& stage, Instant now);
  void end(int number, Instant now);
  void set_link_share(NodeId node, double share);

  /// Works out all speeds; to be called once all changes of an instant are made.
  void recompute(Instant now);

  Instant next() const;

  /// Lets those whose bytes are through at `now` leave their links, where they were not paced.
  /// False where there are none.
  bool pass_bytes(Instant now);

  /// Numbers of those complete at `now`, in the order of their beginning.
  std::vector<int> take_complete(Instant now);

  double speed(int number) const { return running_.at(number).speed; }

  /// What all stages together get of each link, of its whole bandwidth.
  std::vector<double> use() const;

  double capacity(std::size_t link) const {
    return static_cast<double>(capacity_[link]) / static_cast<double>(kWholeLink);
  }

 private:
  struct Running {
    Stage stage;
    double step_s = 0;
    bool bytes = false;  // Not paced, and not through yet.
    bool slowed = false;
    Instant begun;
    std::map<std::uint32_t, LinkDemand> demands;
    double speed = 1;
    double left = 0;
    Instant since;
    Instant at;
    std::uint64_t order = 0;
  };

  Topology topology_;
  std::vector<std::int64_t> capacity_;
  std::map<int, Running> running_;
  std::uint64_t begun_ = 0;
};

}  // namespace orrery::sim::test
