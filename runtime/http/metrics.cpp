#include "runtime/http/metrics.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/control/queue_standings.hpp"
#include "runtime/http/node_json.hpp"

namespace orrery::http {
namespace {

using runtime::Admission;
using runtime::ControllerFacts;
using runtime::ControlView;

/// Writes families one after the other.
class MetricsText {
 public:
  void counter(std::string_view name, std::string_view help) { family(name, help, "counter"); }

  void gauge(std::string_view name, std::string_view help) { family(name, help, "gauge"); }

  /// A sample of the family begun last.
  template <class Number>
  void sample(Number value) {
    out_.append(name_).append(" ").append(text(value)).append("\n");
  }

  template <class Number>
  void sample(std::string_view label, std::string_view label_value, Number value) {
    out_.append(name_).append("{").append(label).append("=\"");
    for (const char c : label_value) {
      if (c == '\n') {
        out_ += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c;
    }
    out_.append("\"} ").append(text(value)).append("\n");
  }

  template <class Number>
  void counter(std::string_view name, std::string_view help, Number value) {
    counter(name, help);
    sample(value);
  }

  template <class Number>
  void gauge(std::string_view name, std::string_view help, Number value) {
    gauge(name, help);
    sample(value);
  }

  template <std::size_t kBounds>
  void histogram(std::string_view name,
                 std::string_view help,
                 const runtime::Histogram<kBounds>& values) {
    family(name, help, "histogram");
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= kBounds; ++i) {
      count += values.counts[i];
      const std::string bound = i < kBounds ? shortest(values.bounds[i]) : "+Inf";
      out_.append(name).append("_bucket{le=\"").append(bound).append("\"} ");
      out_.append(text(count)).append("\n");
    }
    out_.append(name).append("_sum ").append(text(values.sum)).append("\n");
    out_.append(name).append("_count ").append(text(count)).append("\n");
  }

  std::string take() { return std::move(out_); }

 private:
  void family(std::string_view name, std::string_view help, std::string_view type) {
    name_ = name;
    out_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    out_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }

  static std::string shortest(double value) {
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr};
  }

  template <class Number>
  static std::string text(Number value) {
    return std::to_string(value);
  }

  std::string out_;
  std::string name_;
};

/// What is copied on the core thread.
struct Snapshot {
  ControllerFacts facts;
  std::array<std::int64_t, EnumNames<Standing>::kNames.size()> nodes{};
  std::array<std::int64_t, EnumNames<JobPhase>::kNames.size()> jobs{};
  std::int64_t workers = 0;
  std::int64_t workers_ready = 0;
  std::int64_t devices = 0;
  std::int64_t devices_usable = 0;
  std::int64_t devices_free = 0;
  Totals totals;
  std::vector<QuotaUse> quotas;
  std::vector<QueueStanding> queues;
};

Snapshot snapshot_of(const ControlView& view) {
  Snapshot out;
  out.facts = view.facts;
  // Of one that is excluded nobody wants to be told, though it is silent.
  for (const NodeState& node : view.state.nodes)
    ++out.nodes[static_cast<std::size_t>(node.excluded ? Standing::Excluded : standing_of(node))];
  view.state.for_each_job([&](const JobState& job) {
    ++out.jobs[static_cast<std::size_t>(job.row.phase)];
    if (is_final(job.row.phase)) return;
    out.workers += static_cast<std::int64_t>(job.workers.size());
    out.workers_ready += job.ready;
  });
  out.devices = view.state.ledger.devices_total();
  out.devices_usable = view.state.ledger.devices_usable();
  out.devices_free = view.state.ledger.free().free_devices();
  out.totals = view.state.totals;
  out.quotas = view.state.quotas;
  out.queues = QueueStandings(view.state).list();
  return out;
}

void write_process(MetricsText& text, const ControllerFacts& facts) {
  text.gauge("orrery_admission", "1 for the state of admission that the controller is in.");
  for (std::size_t i = 0; i < EnumNames<Admission>::kNames.size(); ++i)
    text.sample("state",
                EnumNames<Admission>::kNames[i],
                static_cast<std::size_t>(facts.admission) == i ? 1 : 0);
  text.gauge("orrery_epoch", "Term of the leader.", facts.epoch.value);
  text.counter("orrery_terms_total", "Terms that this process has led.", facts.terms);
  text.gauge("orrery_start_time_seconds",
             "When this process started, since the Unix epoch.",
             facts.started.in_seconds());
  text.gauge("orrery_journal_durable_records",
             "Number of the last record that is durable.",
             facts.durable.value);
  text.gauge("orrery_store_commit_seconds", "How long the last commit took.", facts.store_commit_s);
  text.gauge("orrery_inbox_items", "Items that wait for the core thread.", facts.inbox);
  text.counter("orrery_heartbeats_total", "Heartbeats that renewed a lease.", facts.heartbeats);
  text.gauge("orrery_agent_links_open", "Streams to agents that are open.", facts.links_open);
  text.counter(
      "orrery_agent_links_total", "Streams to agents that were opened.", facts.links_opened);
  text.counter("orrery_agent_messages_received_total", "Messages from agents.", facts.messages_in);
  text.counter("orrery_agent_messages_sent_total", "Messages to agents.", facts.messages_out);
  text.counter("orrery_plans_asked_total", "Plans asked of the policy.", facts.plans_asked);
  text.counter("orrery_plans_lost_total", "Plans that the policy owed, by reason.");
  for (std::size_t i = 0; i < EnumNames<PlanLoss>::kNames.size(); ++i)
    text.sample("loss", EnumNames<PlanLoss>::kNames[i], facts.plans_lost[i]);
  text.counter("orrery_orders_total", "Orders sent to agents.", facts.orders);
  text.histogram("orrery_inbox_wait_seconds",
                 "How long the oldest item of each sweep, such as a renewal of a lease, waited for "
                 "the core thread.",
                 facts.inbox_wait);
}

void write_state(MetricsText& text, const Snapshot& now) {
  text.gauge("orrery_jobs", "Jobs in state, by phase.");
  for (std::size_t i = 0; i < now.jobs.size(); ++i)
    text.sample("phase", EnumNames<JobPhase>::kNames[i], now.jobs[i]);
  text.counter("orrery_jobs_submitted_total", "Jobs accepted.", now.totals.submitted);
  text.counter("orrery_jobs_succeeded_total", "Jobs that succeeded.", now.totals.succeeded);
  text.counter("orrery_jobs_failed_total", "Jobs that failed.", now.totals.failed);
  text.counter("orrery_plans_total", "Plans carried out.", now.totals.plans);
  text.counter("orrery_grants_total", "Grants carried out.", now.totals.grants);
  text.counter(
      "orrery_ignored_total", "Reports and requests that changed nothing.", now.totals.ignored);
  text.gauge("orrery_workers", "Workers of live jobs.", now.workers);
  text.gauge("orrery_workers_ready", "Workers that are ready.", now.workers_ready);
  text.gauge("orrery_nodes", "Nodes, by standing.");
  for (std::size_t i = 0; i < now.nodes.size(); ++i)
    text.sample("standing", EnumNames<Standing>::kNames[i], now.nodes[i]);
  text.gauge("orrery_devices", "Devices of all nodes.", now.devices);
  text.gauge("orrery_devices_usable", "Devices of nodes that take workers.", now.devices_usable);
  text.gauge("orrery_devices_free", "Devices that are free for new claims.", now.devices_free);
  text.gauge("orrery_devices_held",
             "Devices of usable nodes that jobs hold.",
             now.devices_usable - now.devices_free);
  text.gauge("orrery_quota_devices", "Devices that a quota allows.");
  for (const QuotaUse& use : now.quotas) text.sample("scope", use.quota.scope, use.quota.devices);
  text.gauge("orrery_quota_devices_held", "Devices held under a quota.");
  for (const QuotaUse& use : now.quotas) text.sample("scope", use.quota.scope, use.held);
  text.gauge("orrery_queue_share_devices", "Devices that a queue is entitled to now.");
  for (const QueueStanding& queue : now.queues) text.sample("queue", queue.name, queue.share);
  text.gauge("orrery_queue_used_devices", "Devices that the jobs of a queue hold.");
  for (const QueueStanding& queue : now.queues) text.sample("queue", queue.name, queue.used);
  text.gauge("orrery_queue_borrowed_devices", "Of these, beyond what is guaranteed to the queue.");
  for (const QueueStanding& queue : now.queues) text.sample("queue", queue.name, queue.borrowed);
  text.gauge("orrery_queue_jobs_waiting", "Jobs of a queue that wait.");
  for (const QueueStanding& queue : now.queues)
    text.sample("queue", queue.name, queue.jobs_waiting);
}

void write_http(MetricsText& text, const Figures& figures) {
  text.counter("orrery_http_responses_total", "Answers over HTTP, by status.");
  for (std::size_t i = 0; i < figures.answers.size(); ++i)
    if (figures.answers[i] > 0) text.sample("code", std::to_string(i), figures.answers[i].load());
  text.counter(
      "orrery_http_connections_total", "Connections accepted.", figures.connections.load());
  text.gauge("orrery_http_connections_open",
             "Connections that are open.",
             figures.connections_open.load());
  text.counter("orrery_http_connections_refused_total",
               "Connections turned away: too many at once, or no TLS.",
               figures.connections_refused.load());
  text.counter("orrery_http_cut_off_total",
               "Connections cut: too slow to send or to read.",
               figures.cut_off.load());
  text.gauge("orrery_http_streams_open",
             "Answers that go on: events and logs that are followed.",
             figures.streams_open.load());
}

void write_forecasts(MetricsText& text, const runtime::Forecasts& forecasts) {
  const runtime::ForecastFigures figures = forecasts.figures();
  const auto accuracy = forecasts.accuracy();
  text.counter("orrery_forecasts_total", "Forecasts made, by what came of them.");
  text.sample("outcome", "answered", figures.replies[0]);
  for (std::size_t i = 1; i < figures.replies.size(); ++i)
    text.sample("outcome", EnumNames<runtime::ForecastLoss>::kNames[i], figures.replies[i]);
  text.sample("outcome", "turned_away", figures.refused);
  text.sample("outcome", "reused", figures.reused);
  text.histogram("orrery_forecast_seconds",
                 "How long forecasts took: encoding, the helper's process, its answer.",
                 figures.seconds);
  text.histogram("orrery_forecast_copy_seconds",
                 "How long the core thread copied its state for a forecast.",
                 figures.copy_seconds);
  text.histogram("orrery_forecast_error_ratio",
                 "Of starts foretold at submission: the error over the time waited, 60 s at least.",
                 figures.errors);
  text.gauge("orrery_forecast_error_median",
             "Median of that, of the latest 10,000 starts.",
             accuracy->error_p50);
}

}  // namespace

void add_metrics(Router& router,
                 const ControlClient& client,
                 const std::shared_ptr<const Figures>& figures,
                 const runtime::Forecasts* forecasts) {
  // Not through ControlClient: a controller that follows or starts has figures too.
  router.add("GET", "/metrics", Role::User, [=](const CallPtr& call) {
    if (!query_is_sound(call, "")) return;
    client.control().read([=, executor = client.executor()](const ControlView& view) {
      executor->post([=, now = snapshot_of(view)] {
        MetricsText text;
        write_process(text, now.facts);
        write_state(text, now);
        write_http(text, *figures);
        if (forecasts != nullptr) write_forecasts(text, *forecasts);
        Response out;
        out.content_type = "text/plain; version=0.0.4; charset=utf-8";
        out.body = text.take();
        call->exchange->respond(std::move(out));
      });
    });
  });
}

}  // namespace orrery::http
