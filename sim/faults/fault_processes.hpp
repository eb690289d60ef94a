// Failures at random: when each node's next one comes, and what it comes down to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/random.hpp"
#include "scenarios/language/spec/node_sets.hpp"
#include "scenarios/language/spec/scenario.hpp"

namespace orrery::sim {

/// The random processes of a scenario. Each process and node has streams of its own from the
/// scenario's seed, so that what is added for one changes nothing for the others.
class FaultProcesses {
 public:
  /// One failure of a node.
  struct Strike {
    scenarios::Fault fault;             ///< At its instant, as if it had been written out,
    std::optional<std::uint32_t> pick;  ///< but of the node's workers only the one at this index
                                        ///< modulo their number.
    Instant resumes;                    ///< From when on the node may fail by this process again.
  };

  /// `scenario` outlives the processes.
  explicit FaultProcesses(const scenarios::Scenario& scenario);

  /// Number of processes.
  std::size_t size() const { return scenario_.fault_processes.size(); }

  /// Draws when `process` strikes `node` for the next time after `from`. Before its first strike a
  /// node is found somewhere between two failures, so that failures have their rate from the start.
  Instant next(std::size_t process, NodeId node, Instant from);

  /// Draws what the failure that strikes `node` at `at` comes down to.
  Strike strike(std::size_t process, NodeId node, Instant at);

  /// Whether the node is a lemon of the process.
  bool is_lemon(std::size_t process, NodeId node) const {
    return !lemons_[process].empty() && lemons_[process][node.index()] != 0;
  }

 private:
  void node_failure(const scenarios::FaultProcess& process,
                    NodeId node,
                    Random& choice,
                    scenarios::Fault& fault) const;

  const scenarios::Scenario& scenario_;
  std::vector<Random> clocks_;           ///< By process and node: waiting and repair times.
  std::vector<std::uint32_t> strikes_;   ///< By process and node: how many there were.
  std::vector<double> mean_over_scale_;  ///< By process, of Weibull's law.
  std::vector<std::vector<std::uint8_t>> lemons_;  ///< By process, then node; empty: none.
  std::vector<std::int32_t> devices_;              ///< By node.
  std::vector<scenarios::NodeRun> racks_;
  std::vector<scenarios::NodeRun> switches_;
};

/// All failures that the processes of `scenario` bring before `end`, in order of time. A run meets
/// just these, since nothing that happens in it changes what is drawn.
std::vector<scenarios::Fault> random_failures(const scenarios::Scenario& scenario, Instant end);

}  // namespace orrery::sim
