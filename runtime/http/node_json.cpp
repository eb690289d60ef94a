#include "runtime/http/node_json.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "runtime/http/job_json.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;

std::string_view in_words(Standing standing) {
  switch (standing) {
    case Standing::Silent:
      return "not heard of for the length of its lease; its workers are ended or lost";
    case Standing::Excluded:
      return "takes no new workers until it is included";
    case Standing::DeviceLost:
      return "takes no new workers until all its devices work and it has passed its check";
    case Standing::Leaving:
      return "has announced that it goes away";
    case Standing::Spare:
      return "stands by for a node of its group";
    case Standing::Ready:
      break;
  }
  return "";
}

template <class Visit>
void for_each_lease(const Ledger& ledger, NodeId node, Visit visit) {
  for (LeaseId id = ledger.node(node).first; !id.is_none(); id = ledger.lease(id).next)
    visit(ledger.lease(id));
}

}  // namespace

Standing standing_of(const NodeState& node) {
  if (node.silent) return Standing::Silent;
  if (node.excluded) return Standing::Excluded;
  if (node.lost_device) return Standing::DeviceLost;
  if (!node.leaves_at.is_never()) return Standing::Leaving;
  return node.spare ? Standing::Spare : Standing::Ready;
}

NodeSnapshot take_snapshot(const ControlView& view, NodeId id) {
  const NodeState& node = view.state.nodes[id.index()];
  const LedgerNode& total = view.state.ledger.node(id);
  NodeSnapshot out;
  out.id = id;
  out.name = node_name(view, id);
  out.state = standing_of(node);
  out.message = in_words(out.state);
  out.group = node.group;
  out.devices = total.devices;
  if (!total.model.is_none() && total.model.index() < view.state.models.size())
    out.device_model = view.state.models[total.model.index()];
  out.cpu_millis = total.cpu;
  out.memory_bytes = total.memory;
  out.rack = node.rack;
  out.nvlink_domain = node.nvlink_domain;
  out.leaves_at = node.leaves_at;
  out.excluded_until = node.excluded ? node.excluded_until : Instant::never();
  std::uint64_t held = 0;
  for_each_lease(view.state.ledger, id, [&](const Lease& lease) {
    ++out.workers;
    held |= lease.devices;
  });
  out.devices_held = std::popcount(held);
  if (id.index() >= view.nodes.size()) return out;
  const runtime::NodeFacts& facts = view.nodes[id.index()];
  out.devices_lost = std::popcount(facts.lost_devices);
  out.connected = facts.connected;
  out.last_heard = facts.last_heard;
  out.address = facts.address;
  out.peer = facts.peer;
  out.program = facts.program;
  return out;
}

std::vector<NodeMember> members_on(const ControlView& view, NodeId id) {
  std::set<JobId> owners;
  for_each_lease(view.state.ledger, id, [&](const Lease& lease) { owners.insert(lease.owner); });
  std::vector<NodeMember> out;
  for (const JobId owner : owners) {
    const JobState* job = view.state.find(owner);
    if (job == nullptr) continue;
    for (const Member& member : members_of(view, *job))
      if (job->workers[member.rank.index()].node == id)
        out.push_back({job->spec->name, member.role, member.rank, member.state, member.devices});
  }
  return out;
}

NodeId node_named(const ControlView& view, const std::string& name) {
  for (std::size_t i = 0; i < view.state.nodes.size(); ++i) {
    const NodeId id{static_cast<std::uint32_t>(i)};
    if (node_name(view, id) == name) return id;
  }
  return NodeId::none();
}

}  // namespace orrery::http
