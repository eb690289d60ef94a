#include "runtime/http/nodes_api.hpp"

#include <array>
#include <utility>

#include "core/base/json_text.hpp"
#include "core/control/queue_standings.hpp"
#include "core/record/record_text.hpp"
#include "runtime/http/node_json.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::RequestOutcome;
using Then = ControlClient::Then;

void list(const CallPtr& call, const ControlClient& client) {
  const std::string group = call->query.take("group").value_or("");
  std::optional<Standing> state;
  if (const std::optional<std::string> text = call->query.take("state")) {
    state = enum_from<Standing>(*text);
    if (!state)
      return fail(
          call,
          400,
          "query state: found '" + *text + "', one of " + enum_choices<Standing>() + " is needed");
  }
  if (!query_is_sound(call, "group, state")) return;
  client.look(call, [=](const ControlView& view) -> Then {
    std::vector<NodeSnapshot> nodes;
    for (std::size_t i = 0; i < view.state.nodes.size(); ++i) {
      const NodeState& node = view.state.nodes[i];
      if ((group.empty() || node.group == group) && (!state || standing_of(node) == *state))
        nodes.push_back(take_snapshot(view, NodeId{static_cast<std::uint32_t>(i)}));
    }
    return [call, nodes = std::move(nodes)] {
      JsonText json;
      json.begin_object();
      JsonFields(json, TimesAs::WithUtc).field("nodes", nodes);
      json.end_object();
      call->exchange->respond(json_response(json.take()));
    };
  });
}

// Looks at the node that the path names.
void with_node(const CallPtr& call,
               const ControlClient& client,
               std::function<Then(const ControlView&, NodeId)> find) {
  if (!query_is_sound(call, "")) return;
  client.look(call, [call, find = std::move(find)](const ControlView& view) -> Then {
    const NodeId id = node_named(view, call->value("node"));
    if (!id.is_none()) return find(view, id);
    fail(call, 404, "there is no node " + call->value("node"));
    return {};
  });
}

void get(const CallPtr& call, const ControlClient& client) {
  with_node(call, client, [call](const ControlView& view, NodeId id) -> Then {
    return [call, node = take_snapshot(view, id), members = members_on(view, id)] {
      JsonText json;
      json.begin_object();
      JsonFields fields(json, TimesAs::WithUtc);
      NodeSnapshot::fields(node, fields);
      fields.field("members", members);
      json.end_object();
      call->exchange->respond(json_response(json.take()));
    };
  });
}

void exclude(const CallPtr& call, const ControlClient& client, bool excluded) {
  with_node(call, client, [=](const ControlView&, NodeId id) -> Then {
    return [=] {
      client.ask(call, ExclusionRequested{0, id, excluded}, [call](const RequestOutcome& outcome) {
        if (outcome.kind == RequestOutcome::Kind::Refused) return fail(call, 409, outcome.message);
        JsonText json;
        json.begin_object().field("name", call->value("node")).end_object();
        call->exchange->respond(json_response(json.take()));
      });
    };
  });
}

// --- totals ---

template <class E>
using Counts = std::array<std::int64_t, EnumNames<E>::kNames.size()>;

template <class E>
void write_counts(JsonText& json, std::string_view name, const Counts<E>& counts) {
  json.key(name).begin_object();
  for (std::size_t i = 0; i < counts.size(); ++i) json.field(EnumNames<E>::kNames[i], counts[i]);
  json.end_object();
}

struct ClusterSnapshot {
  runtime::ControllerFacts facts;
  Instant now;
  std::string policy;
  Counts<Standing> nodes{};
  Counts<JobPhase> jobs{};
  std::int64_t devices = 0;
  std::int64_t devices_usable = 0;
  std::int64_t devices_free = 0;
  Totals totals;
  std::vector<QuotaUse> quotas;
};

ClusterSnapshot cluster_of(const ControlView& view) {
  ClusterSnapshot out{view.facts, view.now, view.state.settings.policy};
  for (const NodeState& node : view.state.nodes)
    ++out.nodes[static_cast<std::size_t>(standing_of(node))];
  view.state.for_each_job(
      [&](const JobState& job) { ++out.jobs[static_cast<std::size_t>(job.row.phase)]; });
  out.devices = view.state.ledger.devices_total();
  out.devices_usable = view.state.ledger.devices_usable();
  out.devices_free = view.state.ledger.free().free_devices();
  out.totals = view.state.totals;
  out.quotas = view.state.quotas;
  return out;
}

void cluster(const CallPtr& call, const ControlClient& client) {
  if (!query_is_sound(call, "")) return;
  client.look(call, [call](const ControlView& view) -> Then {
    return [call, cluster = cluster_of(view)] {
      JsonText json;
      JsonFields fields(json, TimesAs::WithUtc);
      json.begin_object().field("controller", cluster.facts.name);
      json.field("admission", to_string(cluster.facts.admission)).field("why", cluster.facts.why);
      fields.field("epoch", cluster.facts.epoch);
      fields.field("now", cluster.now);
      json.field("policy", cluster.policy);
      write_counts<Standing>(json, "nodes", cluster.nodes);
      write_counts<JobPhase>(json, "jobs", cluster.jobs);
      json.key("devices").begin_object().field("total", cluster.devices);
      json.field("usable", cluster.devices_usable).field("free", cluster.devices_free);
      json.end_object();
      fields.field("totals", cluster.totals);
      fields.field("quotas", cluster.quotas);
      json.end_object();
      call->exchange->respond(json_response(json.take()));
    };
  });
}

// What is entitled to what; empty where no queues stand in front of the policy.
void queues(const CallPtr& call, const ControlClient& client) {
  if (!query_is_sound(call, "")) return;
  client.look(call, [call](const ControlView& view) -> Then {
    return [call, queues = QueueStandings(view.state).list()] {
      JsonText json;
      json.begin_object();
      JsonFields(json, TimesAs::WithUtc).field("queues", queues);
      json.end_object();
      call->exchange->respond(json_response(json.take()));
    };
  });
}

}  // namespace

void add_nodes_api(Router& router, const ControlClient& client) {
  router.add("GET", "/api/v1/nodes", Role::User, [=](const CallPtr& call) { list(call, client); });
  router.add(
      "GET", "/api/v1/nodes/{node}", Role::User, [=](const CallPtr& call) { get(call, client); });
  router.add("POST", "/api/v1/nodes/{node}/exclude", Role::Admin, [=](const CallPtr& call) {
    exclude(call, client, true);
  });
  router.add("POST", "/api/v1/nodes/{node}/include", Role::Admin, [=](const CallPtr& call) {
    exclude(call, client, false);
  });
  router.add(
      "GET", "/api/v1/queues", Role::User, [=](const CallPtr& call) { queues(call, client); });
  router.add(
      "GET", "/api/v1/cluster", Role::User, [=](const CallPtr& call) { cluster(call, client); });
}

}  // namespace orrery::http
