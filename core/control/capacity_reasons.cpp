#include "core/control/capacity_reasons.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/amount_text.hpp"
#include "core/cluster/node_count.hpp"
#include "core/discovery/port_demand.hpp"
#include "core/job/turns.hpp"
#include "core/membership/placing.hpp"

namespace orrery {
namespace {

/// What is looked for: so many replicas of a role.
struct Piece {
  RoleIndex role;
  std::int32_t replicas = 0;
  Demand demand;
  std::string_view model;  ///< Name of the one that its devices are of; empty: any.
};

/// Where: what is free now, or all that is declared.
enum class Where : std::uint8_t { Free, Declared };

Piece piece_of(const State& state, const JobState& job, RoleIndex role, std::int32_t replicas) {
  const Bundle& b = job.spec->roles[role.index()].bundle;
  const DeviceModelId model =
      b.device_model.empty() ? DeviceModelId::none() : state.model_named(b.device_model);
  return {role, replicas, {b.cpu, b.memory, b.devices, b.share, model}, b.device_model};
}

std::vector<Piece> gang_of(const State& state, const JobState& job) {
  std::vector<Piece> pieces;
  for (std::size_t r = 0; r < job.role_count(); ++r) {
    const RoleIndex role{static_cast<std::uint16_t>(r)};
    pieces.push_back(piece_of(
        state, job, role, role == job.row.elastic ? job.row.min_replicas : job.target(role)));
    // Its devices are those of a role that it takes turns with.
    if (rides(*job.spec, role)) pieces.back().demand.devices = 0;
  }
  return pieces;
}

NodeFree room_of(const State& state, std::uint32_t node, Where where) {
  const NodeId id{node};
  if (where == Where::Free) return state.ledger.free().at(id);
  const LedgerNode& all = state.ledger.node(id);
  return {all.cpu, all.memory, all.devices, 0, all.model, true};
}

// What there is in all.
struct Sums {
  std::int64_t thousandths = 0;  // Of devices, parts added up.
  std::int64_t whole = 0;        // Wholly free devices.
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

Sums sums_of(const State& state, Where where) {
  const FreeIndex& free = state.ledger.free();
  if (where == Where::Free)
    return {free.free_thousandths(),
            free.free_devices(),
            free.free_cpu().count,
            free.free_memory().count};
  Sums sums;
  for (std::uint32_t n = 0; n < state.ledger.node_count(); ++n) {
    const LedgerNode& node = state.ledger.node(NodeId{n});
    sums.whole += node.devices;
    sums.cpu += node.cpu.count;
    sums.memory += node.memory.count;
  }
  sums.thousandths = sums.whole * 1000;
  return sums;
}

// A piece with the model that all devices are asked of; null where any will do, or they differ.
const Piece* of_one_model(const std::vector<Piece>& pieces) {
  const Piece* first = nullptr;
  for (const Piece& piece : pieces) {
    if (piece.demand.devices == 0) continue;
    if (piece.model.empty() || (first != nullptr && first->model != piece.model)) return nullptr;
    first = &piece;
  }
  return first;
}

// "4 devices", "0.5 h200 devices".
std::string devices_text(std::int64_t thousandths, std::string_view model) {
  return thousandths_text(thousandths) + " " + std::string(model) + (model.empty() ? "" : " ") +
         (thousandths == 1000 ? "device" : "devices");
}

// "4 are free"; of declared nodes "the declared nodes have 4".
std::string there_is(const std::string& amount, bool one, Where where) {
  if (where == Where::Declared) return "the declared nodes have " + amount;
  return amount + (one ? " is free" : " are free");
}

// Devices of one model alone.
Sums of_model(const State& state, DeviceModelId model, Where where, Sums sums) {
  sums.whole = sums.thousandths = 0;
  for (std::uint32_t n = 0; n < state.ledger.node_count(); ++n) {
    const NodeFree room = room_of(state, n, where);
    if (!room.usable || room.model != model) continue;
    sums.whole += room.devices;
    sums.thousandths += room.thousandths();
  }
  return sums;
}

// Each resource of which there is too little in all.
std::vector<std::string> short_in_all(const State& state,
                                      const JobState& job,
                                      const std::vector<Piece>& pieces,
                                      Where where) {
  std::int64_t thousandths = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  bool parts = false;
  for (const Piece& piece : pieces) {
    thousandths += piece.replicas * piece.demand.thousandths();
    cpu += piece.replicas * piece.demand.cpu.count;
    memory += piece.replicas * piece.demand.memory.count;
    parts = parts || (piece.demand.devices > 0 && !piece.demand.share.is_whole());
  }
  Sums there = sums_of(state, where);
  const Piece* one_model = of_one_model(pieces);
  if (one_model != nullptr) there = of_model(state, one_model->demand.model, where, there);
  const std::int64_t devices = parts ? there.thousandths : there.whole * 1000;
  const std::string at_once = job.row.holds ? "" : " at once";
  std::vector<std::string> out;
  if (thousandths > devices)
    out.push_back(devices_text(thousandths, one_model == nullptr ? "" : one_model->model) +
                  at_once + ", " + there_is(thousandths_text(devices), devices == 1000, where));
  if (cpu > there.cpu)
    out.push_back(cores_text(cpu) + (out.empty() ? at_once : "") + ", " +
                  there_is(thousandths_text(there.cpu), there.cpu == 1000, where));
  if (memory > there.memory)
    out.push_back(bytes_text(memory) + " of memory" + (out.empty() ? at_once : "") + ", " +
                  there_is(bytes_text(there.memory), true, where));
  return out;
}

// Replicas for which there is room, node by node: in every respect, and if some did not matter.
struct Fits {
  std::int64_t all = 0;
  std::int64_t devices = 0;
  std::int64_t with_cores = 0;   // Devices and cores.
  std::int64_t with_memory = 0;  // Devices and memory.
};

Fits fits_of(const State& state, const Piece& piece, Where where) {
  Demand devices = piece.demand;
  devices.cpu = {};
  devices.memory = {};
  Demand with_cores = devices;
  with_cores.cpu = piece.demand.cpu;
  Demand with_memory = devices;
  with_memory.memory = piece.demand.memory;
  Fits fits;
  for (std::uint32_t n = 0; n < state.ledger.node_count() && fits.all < piece.replicas; ++n) {
    const NodeFree room = room_of(state, n, where);
    fits.all += replicas_that_fit(room, piece.demand);
    fits.devices += replicas_that_fit(room, devices);
    fits.with_cores += replicas_that_fit(room, with_cores);
    fits.with_memory += replicas_that_fit(room, with_memory);
  }
  return fits;
}

std::string amount_of(const Piece& piece) {
  const Demand& demand = piece.demand;
  std::vector<std::string> parts;
  if (demand.devices > 0) parts.push_back(devices_text(demand.thousandths(), piece.model));
  if (demand.cpu.count > 0) parts.push_back(cores_text(demand.cpu.count));
  if (demand.memory.count > 0) parts.push_back(bytes_text(demand.memory.count) + " of memory");
  return listed(parts);
}

// Empty where there is room for the piece by itself.
std::string short_on_nodes(const State& state,
                           const JobState& job,
                           const Piece& piece,
                           Where where) {
  const Fits fits = fits_of(state, piece, where);
  if (fits.all >= piece.replicas) return {};
  std::vector<std::string> binding;
  const std::string beside = piece.demand.devices > 0 ? " beside devices" : "";
  const std::int64_t most = std::min<std::int64_t>(fits.devices, piece.replicas);
  if (fits.devices < piece.replicas)
    binding.push_back("devices for " + std::to_string(fits.devices));
  if (fits.with_cores < most)
    binding.push_back("cores" + beside + " for " + std::to_string(fits.with_cores));
  if (fits.with_memory < most)
    binding.push_back("memory" + beside + " for " + std::to_string(fits.with_memory));
  const std::string& name = job.spec->roles[piece.role.index()].name;
  return "role " + name + " needs " + counted(piece.replicas, "replica") + " with " +
         amount_of(piece) + (piece.replicas == 1 ? "" : " each") + " on one node; " +
         (where == Where::Free ? "there is room for "
                               : "the declared nodes can never hold more than ") +
         std::to_string(fits.all) +
         (binding.empty() ? ": no more nodes have all of it together"
                          : ": nodes have " + listed(binding));
}

std::string all_short(const State& state,
                      const JobState& job,
                      const std::vector<Piece>& pieces,
                      Where where) {
  std::string text;
  for (const std::string& each : short_in_all(state, job, pieces, where))
    text += (text.empty() ? "" : ", and ") + each;
  return text;
}

// Of the first model of which roles together ask for more than is declared; empty where there is
// enough of each.
std::string short_of_a_model(const State& state,
                             const JobState& job,
                             const std::vector<Piece>& pieces) {
  for (const Piece& first : pieces) {
    if (first.model.empty()) continue;
    std::vector<Piece> alike;
    std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(alike), [&](const Piece& piece) {
      return piece.model == first.model;
    });
    if (std::string text = all_short(state, job, alike, Where::Declared); !text.empty())
      return text;
  }
  return {};
}

// "; 4 more devices are on nodes that take no job now (1 excluded, 2 silent)": of the model that
// the job asks for, if it does. Empty where there are none, or it asks for none.
std::string held_back(const State& state, const std::vector<Piece>& pieces) {
  const Piece* one_model = of_one_model(pieces);
  const bool asks = std::any_of(
      pieces.begin(), pieces.end(), [](const Piece& piece) { return piece.demand.devices > 0; });
  if (!asks) return {};
  std::int64_t devices = 0;
  std::int32_t excluded = 0;
  std::int32_t silent = 0;
  std::int32_t spare = 0;
  std::int32_t others = 0;
  for (std::uint32_t n = 0; n < state.ledger.node_count(); ++n) {
    const NodeFree& free = state.ledger.free().at(NodeId{n});
    if (free.usable || free.devices == 0) continue;
    if (one_model != nullptr && free.model != one_model->demand.model) continue;
    const NodeState& node = state.nodes[n];
    devices += free.devices;
    ++(node.silent ? silent : node.excluded ? excluded : node.spare ? spare : others);
  }
  if (devices == 0) return {};
  std::string kinds;
  for (const auto& [count, kind] : {std::pair(excluded, " excluded"),
                                    std::pair(silent, " silent"),
                                    std::pair(spare, " spare"),
                                    std::pair(others, " leaving or not heard yet")})
    if (count > 0) kinds += (kinds.empty() ? "" : ", ") + std::to_string(count) + kind;
  return "; " + std::to_string(devices) + (devices == 1 ? " more device is" : " more devices are") +
         " on nodes that take no job now (" + kinds + ")";
}

// Places one piece beside those before, as the placer would.
bool take(const State& state,
          const JobState& job,
          const Piece& piece,
          CapacityTrial& trial,
          std::vector<NodeCount>& nodes) {
  return placer_of(state).place(
      placement_of(state, job, piece.demand, piece.replicas), trial, nodes);
}

std::string may_hold(const Quota& quota) {
  return quota.scope + " may hold " + counted(quota.devices, "device");
}

bool fit_together(const State& state, const JobState& job, const std::vector<Piece>& pieces) {
  CapacityTrial trial;
  trial.sync(state.ledger.free());
  std::vector<NodeCount> nodes;
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return take(state, job, piece, trial, nodes);
  });
}

}  // namespace

std::string why_no_room(const State& state, const JobState& job) {
  const Where where = job.row.infeasible ? Where::Declared : Where::Free;
  const std::vector<Piece> gang = gang_of(state, job);
  std::string in_all = all_short(state, job, gang, where);
  if (in_all.empty() && where == Where::Declared) in_all = short_of_a_model(state, job, gang);
  if (!in_all.empty())
    return "needs " + in_all +
           (where == Where::Declared ? ": more than they can ever give together"
                                     : held_back(state, gang));
  std::string text;
  for (const Piece& piece : gang)
    if (const std::string why = short_on_nodes(state, job, piece, where); !why.empty())
      text += (text.empty() ? "" : "; ") + why;
  if (!text.empty() || gang.size() == 1 || where == Where::Declared) return text;
  return fit_together(state, job, gang) ? ""
                                        : "each of its roles finds room by itself, not all at once";
}

std::string why_no_more(const State& state,
                        const JobState& job,
                        RoleIndex role,
                        std::int32_t replicas) {
  const Piece more = piece_of(state, job, role, replicas);
  std::string in_all = all_short(state, job, {more}, Where::Free);
  return in_all.empty() ? short_on_nodes(state, job, more, Where::Free) : in_all;
}

std::string why_no_ports(const State& state, const JobState& job) {
  CapacityTrial trial;
  trial.sync(state.ledger.free());
  std::vector<NodeCount> nodes;
  std::int32_t each = 0;
  for (const Piece& piece : gang_of(state, job)) {
    std::vector<NodeCount> taken;
    if (!take(state, job, piece, trial, taken)) return {};
    const std::int32_t ports = ports_of(*job.spec, piece.role);
    if (ports == 0) continue;
    each = ports;
    nodes.insert(nodes.end(), taken.begin(), taken.end());
  }
  const PortLedger& ports = state.ledger.ports();
  for (const NodeCount& at : merged(nodes)) {
    const std::int32_t room = ports.room(at.node, each);
    if (room >= at.replicas) continue;
    const std::int32_t all = ports.range(at.node).count;
    const std::string& name = state.nodes[at.node.index()].name;
    return "needs ports on node " + (name.empty() ? std::to_string(at.node.value) : name) +
           " for " + counted(at.replicas, "worker") + ", " + std::to_string(each) +
           " in a row each; there is room for " + std::to_string(room) + ", since " +
           std::to_string(all - ports.free(at.node)) + " of its " + std::to_string(all) +
           " ports are in use";
  }
  return {};
}

std::string why_never_in_quota(const State& state, const JobState& job, std::int32_t devices) {
  for (const std::uint32_t quota : {job.row.quota_group, job.row.quota_namespace})
    if (quota != UINT32_MAX && devices > state.quotas[quota].quota.devices)
      return may_hold(state.quotas[quota].quota);
  return {};
}

std::string why_over_quota(const State& state, const JobState& job, std::int32_t devices) {
  for (const std::uint32_t quota : {job.row.quota_group, job.row.quota_namespace}) {
    if (quota == UINT32_MAX) continue;
    const QuotaUse& use = state.quotas[quota];
    if (use.held - job.row.devices_held + devices > use.quota.devices)
      return may_hold(use.quota) + " and holds " + std::to_string(use.held);
  }
  return {};
}

}  // namespace orrery
