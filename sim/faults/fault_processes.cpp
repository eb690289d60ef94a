#include "sim/faults/fault_processes.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/math.hpp"

namespace orrery::sim {
namespace {

using scenarios::Fault;
using scenarios::FaultKind;
using scenarios::FaultLaw;
using scenarios::FaultProcess;
using scenarios::ProcessSubject;

// Gamma for arguments from 1 on, by Lanczos' approximation (g = 7, 9 terms; Numerical Recipes 6.1):
// relative error below 1e-13, from the core's own functions so that every processor agrees.
double gamma_from_one(double x) {
  static constexpr double kTerms[] = {0.99999999999980993,
                                      676.5203681218851,
                                      -1259.1392167224028,
                                      771.32342877765313,
                                      -176.61502916214059,
                                      12.507343278686905,
                                      -0.13857109526572012,
                                      9.9843695780195716e-6,
                                      1.5056327351493116e-7};
  x -= 1;
  double sum = kTerms[0];
  for (int i = 1; i < 9; ++i) sum += kTerms[i] / (x + i);
  const double t = x + 7.5;
  return 2.5066282746310002 * math::exp((x + 0.5) * math::log(t) - t) * sum;
}

// Gamma with scale 1 and `shape` at least 1, by Marsaglia and Tsang (2000): a normal number, bent
// and then kept or refused. Needs no function that differs between processors.
double draw_gamma(Random& random, double shape) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / math::sqrt(9 * d);
  while (true) {
    const double x = random.normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (math::log(random.uniform_positive()) < 0.5 * x * x + d * (1 - v + math::log(v)))
      return d * v;
  }
}

// What is left of the interval between failures in which a run begins. A run finds a longer
// interval more often than a shorter one, in proportion to the length, and finds it at any point
// with equal chance: a whole interval from the start instead would make a young cluster of each
// run, whose failures come too often where `shape` is below 1 and too seldom where it is above.
double draw_rest_of_weibull(Random& random, double shape, double scale) {
  const double whole = scale * math::pow(draw_gamma(random, 1 + 1 / shape), 1 / shape);
  return random.uniform_positive() * whole;
}

std::string purpose(std::string_view what, std::size_t process, std::size_t node) {
  return std::string(what) + "/" + std::to_string(process) + "/" + std::to_string(node);
}

// A set share of the nodes, whichever the seed picks.
std::vector<std::uint8_t> draw_lemons(const scenarios::Scenario& scenario, std::size_t process) {
  const double share = scenario.fault_processes[process].lemons.share;
  if (share <= 0) return {};
  const auto nodes = static_cast<std::size_t>(scenario.node_count());
  std::vector<std::uint32_t> order(nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) order[n] = n;
  Random random = Random::stream(scenario.seed, "lemons/" + std::to_string(process));
  random.shuffle(order);
  const auto count = static_cast<std::size_t>(share * static_cast<double>(nodes) + 0.5);
  std::vector<std::uint8_t> lemons(nodes, 0);
  for (std::size_t i = 0; i < std::min(count, nodes); ++i) lemons[order[i]] = 1;
  return lemons;
}

std::vector<NodeId> nodes_of(const scenarios::NodeRun& run) {
  std::vector<NodeId> nodes;
  for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(run.count); ++n)
    nodes.push_back(NodeId{run.first.value + n});
  return nodes;
}

}  // namespace

FaultProcesses::FaultProcesses(const scenarios::Scenario& scenario) : scenario_(scenario) {
  const auto nodes = static_cast<std::size_t>(scenario.node_count());
  for (std::size_t p = 0; p < size(); ++p) {
    const FaultProcess& process = scenario.fault_processes[p];
    for (std::size_t n = 0; n < nodes; ++n)
      clocks_.push_back(Random::stream(scenario.seed, purpose("fault", p, n)));
    mean_over_scale_.push_back(gamma_from_one(1 + 1 / process.shape));
    lemons_.push_back(draw_lemons(scenario, p));
  }
  strikes_.resize(clocks_.size(), 0);
  if (size() == 0) return;
  for (const NodeGroup& group : scenario.groups)
    devices_.insert(devices_.end(), static_cast<std::size_t>(group.count), group.devices);
  racks_ = scenarios::node_sets(scenario, scenarios::NodeSet::Rack);
  switches_ = scenarios::node_sets(scenario, scenarios::NodeSet::Switch);
}

Instant FaultProcesses::next(std::size_t process, NodeId node, Instant from) {
  const FaultProcess& law = scenario_.fault_processes[process];
  const std::size_t index = process * devices_.size() + node.index();
  Random& random = clocks_[index];
  double mean_s = 1000.0 * 86400.0 / law.rate_per_1000_node_days;
  if (is_lemon(process, node)) mean_s /= law.lemons.factor;
  // An exponential wait is the same however long it has lasted already.
  if (law.law == FaultLaw::Exponential)
    return from + Duration::from_seconds(random.exponential(mean_s));
  const double scale_s = mean_s / mean_over_scale_[process];
  const bool first = strikes_[index] == 0;
  return from + Duration::from_seconds(first ? draw_rest_of_weibull(random, law.shape, scale_s)
                                             : random.weibull(law.shape, scale_s));
}

FaultProcesses::Strike FaultProcesses::strike(std::size_t process, NodeId node, Instant at) {
  const FaultProcess& law = scenario_.fault_processes[process];
  const std::size_t index = process * devices_.size() + node.index();
  const std::string which = std::to_string(strikes_[index]++);
  Fault fault;
  fault.at = at;
  fault.nodes = {node};
  fault.exit_code = law.exit_code;
  std::optional<std::uint32_t> pick;
  if (law.of != ProcessSubject::Worker)
    fault.lasting = Duration::from_seconds(
        clocks_[index].lognormal(math::log(law.repair_median.in_seconds()), law.repair_sigma));
  // One stream for each strike's choices: a choice more in one shifts no other.
  Random choice =
      Random::stream(scenario_.seed, purpose("fault-choice", process, node.index()) + "/" + which);
  switch (law.of) {
    case ProcessSubject::Node:
      node_failure(law, node, choice, fault);
      break;
    case ProcessSubject::Worker:
      fault.kind = FaultKind::Crash;
      pick = static_cast<std::uint32_t>(choice.below(1u << 30));
      break;
    case ProcessSubject::Device: {
      fault.kind = FaultKind::DeviceLost;
      const auto devices = static_cast<std::uint64_t>(devices_[node.index()]);
      fault.devices = devices == 0 ? 0 : std::uint64_t{1} << choice.below(devices);
      break;
    }
    case ProcessSubject::Link:
      fault.kind = FaultKind::LinkCut;
      break;
  }
  const Instant resumes = fault.kind == FaultKind::Down ? at + fault.lasting : at;
  return {std::move(fault), pick, resumes};
}

void FaultProcesses::node_failure(const FaultProcess& process,
                                  NodeId node,
                                  Random& choice,
                                  Fault& fault) const {
  if (choice.chance(process.correlated.share)) {
    const bool rack = process.correlated.group == scenarios::NodeSet::Rack;
    const scenarios::NodeRun* set = scenarios::set_of(rack ? racks_ : switches_, node);
    if (set != nullptr) fault.nodes = nodes_of(*set);
    fault.kind = FaultKind::Down;
    return;
  }
  const scenarios::FailureMix& mix = process.mix;
  const std::array<double, 3> weights{mix.process_restart, mix.node_swap, mix.fail_slow};
  switch (choice.choose(weights)) {
    case 0:
      fault.kind = FaultKind::Crash;
      break;
    case 1:
      fault.kind = FaultKind::Down;
      break;
    default:
      fault.kind = FaultKind::Slow;
      fault.factor = mix.slow_factor;
      fault.lasting = mix.slow_lasting;
  }
}

std::vector<Fault> random_failures(const scenarios::Scenario& scenario, Instant end) {
  std::vector<Fault> out;
  FaultProcesses processes(scenario);
  const auto nodes = static_cast<std::uint32_t>(scenario.node_count());
  for (std::size_t p = 0; p < processes.size(); ++p)
    for (std::uint32_t n = 0; n < nodes; ++n) {
      Instant at = processes.next(p, NodeId{n}, Instant::zero());
      while (at < end) {
        FaultProcesses::Strike strike = processes.strike(p, NodeId{n}, at);
        out.push_back(std::move(strike.fault));
        at = processes.next(p, NodeId{n}, strike.resumes);
      }
    }
  std::ranges::stable_sort(out, {}, &Fault::at);
  return out;
}

}  // namespace orrery::sim
