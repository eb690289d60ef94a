#include "core/membership/seat_resolution.hpp"

#include <algorithm>
#include <map>

#include "core/job/turns.hpp"
#include "core/membership/seating.hpp"
#include "core/placement/cluster_inventory.hpp"
#include "core/placement/reservation.hpp"

namespace orrery {
namespace {

namespace pl = placement;

// What more nodes could mend.
bool is_about_the_cluster(const pl::PlacementError& error) {
  return error.kind == pl::ErrorKind::ResourceOutOfRange ||
         error.kind == pl::ErrorKind::NodeGroupNotFound || error.kind == pl::ErrorKind::NoHardware;
}

pl::PlacementRule rule_of(const RoleSpec& role, const RolePlacement& placement) {
  pl::PlacementRule rule;
  rule.components.text = role.name;
  for (const std::string& label : placement.node_groups) rule.node_groups.push_back({label, {}});
  rule.placement = pl::PlacedText{placement.text, {}};
  return rule;
}

// Collects what is wrong, a reason a line.
class Findings {
 public:
  explicit Findings(std::string& why) : why_(why) {}

  void add(Seating seating, const std::string& text) {
    found_ = std::max(found_, seating);  // In order of how bad they are.
    why_ += (why_.empty() ? "" : "\n") + text;
  }

  Seating found() const { return found_; }

 private:
  std::string& why_;
  Seating found_ = Seating::Sound;
};

void resolve_role(const State& state,
                  const pl::Inventory& inventory,
                  JobState& job,
                  RoleIndex index,
                  Findings& findings) {
  const RoleSpec& role = job.spec->roles[index.index()];
  for (const RolePlacement& placement : role.placements) {
    pl::PlacementErrors errors;
    const std::vector<pl::ComponentPlan> plans =
        pl::resolve_components(inventory, {rule_of(role, placement)}, errors);
    for (const pl::PlacementError& error : errors)
      findings.add(
          is_about_the_cluster(error) ? Seating::Infeasible : Seating::Wrong,
          "role " + role.name + ": placement '" + placement.text + "': " + error.message());
    if (!errors.empty() || plans.size() != 1) continue;
    std::vector<Seat> seats = pl::seats_of(plans.front(), state.declared);
    if (seats.size() != static_cast<std::size_t>(placement.replicas)) {
      findings.add(Seating::Wrong,
                   "role " + role.name + ": placement '" + placement.text + "' places " +
                       std::to_string(seats.size()) + " processes, it is named for " +
                       std::to_string(placement.replicas) + " replicas; make them equal");
      continue;
    }
    job.seats.edit().push_back({index, std::move(seats)});
  }
}

// Roles share devices only where they say that they take turns.
void check_overlaps(const JobState& job, Findings& findings) {
  const JobSpec& spec = *job.spec;
  for (std::size_t a = 0; a < job.seats->size(); ++a)
    for (std::size_t b = a + 1; b < job.seats->size(); ++b) {
      const SizedSeats& first = (*job.seats)[a];
      const SizedSeats& second = (*job.seats)[b];
      if (first.role == second.role) continue;
      const TurnKey turns = turns_of(spec, first.role);
      if (turns.group != 0 && turns.group == turns_of(spec, second.role).group) continue;
      if (const auto overlap = pl::first_overlap(first.seats, second.seats)) {
        const std::string& one = spec.roles[first.role.index()].name;
        const std::string& other = spec.roles[second.role.index()].name;
        findings.add(Seating::Wrong,
                     "roles " + one + " and " + other + " both sit on " + pl::describe(*overlap) +
                         ", devices are shared by declaration only; add 'take_turns: [[" + one +
                         ", " + other + "]]' or move one of them");
      }
    }
}

// Whether CPU and memory of all workers on each node suffice if the node were empty.
void check_room(const State& state, const JobState& job, Findings& findings) {
  std::map<NodeId, std::pair<MilliCpu, Bytes>> need;
  for (const SizedSeats& sized : *job.seats) {
    const Bundle& bundle = job.spec->roles[sized.role.index()].bundle;
    const RoleSpec& role = job.spec->roles[sized.role.index()];
    // An elastic role is judged at its smallest size.
    if (static_cast<std::int32_t>(sized.seats.size()) != role.placements.front().replicas) continue;
    for (const Seat& seat : sized.seats) {
      auto& [cpu, memory] = need[seat.node];
      cpu = cpu + bundle.cpu;
      memory = memory + bundle.memory;
    }
  }
  for (const auto& [node, amount] : need) {
    const LedgerNode& has = state.ledger.node(node);
    if (amount.first <= has.cpu && amount.second <= has.memory) continue;
    findings.add(Seating::Infeasible,
                 "its workers on node " + std::to_string(node.value) +
                     " need more CPU or memory than the node has; place fewer of them there");
    return;
  }
}

void check_virtual_clusters(const State& state, const JobState& job, Findings& findings) {
  if (job.spec->virtual_clusters.empty()) return;
  const vcluster::Forming forming =
      vcluster::form(node_offers(state), requests_of(state, *job.spec));
  if (forming.outcome == vcluster::Outcome::Infeasible)
    findings.add(Seating::Infeasible, forming.reason);
}

}  // namespace

Seating resolve_seats(const State& state, JobState& job, std::string& why) {
  job.seats.clear();
  Findings findings(why);
  const pl::Inventory inventory = pl::inventory_of(state.declared);
  for (std::size_t r = 0; r < job.role_count(); ++r)
    resolve_role(state, inventory, job, RoleIndex{static_cast<std::uint16_t>(r)}, findings);
  check_overlaps(job, findings);
  if (findings.found() == Seating::Sound) check_room(state, job, findings);
  if (findings.found() == Seating::Sound) check_virtual_clusters(state, job, findings);
  return findings.found();
}

}  // namespace orrery
