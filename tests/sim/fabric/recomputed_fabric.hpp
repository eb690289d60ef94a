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
  void set_link_share(NodeId node, double share, Instant now);

  /// Works out all speeds; to be called once all changes of an instant are made.
  void recompute(Instant now);

  Instant next() const;

  /// Lets those whose bytes are through at `now` leave their links, where they were not paced.
  /// False where there are none.
  bool pass_bytes(Instant now);

  /// Numbers of those complete at `now`, in the order of their beginning.
  std::vector<int> take_complete(Instant now);

  /// Steps per second.
  double pace(int number) const { return running_.at(number).speed / running_.at(number).step_s; }

  /// What all stages together get of each link, of its whole bandwidth.
  std::vector<double> use() const;

  double capacity(std::size_t link) const { return share_[link]; }

 private:
  struct Running {
    Stage stage;
    double step_s = 0;
    bool bytes = false;  // Not paced, and not through yet.
    bool slowed = false;
    Instant begun;
    std::vector<LinkLoad> loads;
    double latency_s = 0;
    double limit_s = 0;
    double alone_s = 0;  // Of a step, or of its exchange.
    std::map<std::uint32_t, LinkDemand> demands;
    double speed = 1;
    double left = 0;
    Instant since;
    Instant at;
    std::uint64_t order = 0;
  };

  void ask(Running& running) const;

  Topology topology_;
  std::vector<double> share_;
  std::map<int, Running> running_;
  std::uint64_t begun_ = 0;
};

}  // namespace orrery::sim::test
