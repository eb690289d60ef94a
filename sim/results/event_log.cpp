#include "sim/results/event_log.hpp"

#include <ostream>

#include "core/record/event.hpp"
#include "sim/results/time_text.hpp"

namespace orrery::sim {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;

void put_time(std::string_view key, Instant time, std::string& number, JsonText& json) {
  number.clear();
  append_seconds_exact(time.ns, number);
  json.key(key).raw(number);
}

void put_workers(const Notice& notice, JsonText& json) {
  json.field("generation", notice.generation.value);
  json.field("fact", to_string(notice.fact));
  if (!notice.first.is_none()) json.field("first", notice.first.value);
  json.field("count", notice.count);
  if (notice.fact == WorkerFact::Exited) json.field("exit_code", notice.exit_code);
}

void put_incident(const Notice& notice, JsonText& json) {
  json.field("incident", notice.incident).field("cause", to_string(notice.reason));
  json.field("scope", to_string(notice.scope)).field("charged", notice.charged);
  if (!notice.role.is_none())
    json.field("role", notice.role.value).field("local_rank", notice.local_rank);
}

/// What the notice's kind says is meaningful.
void put_details(const Notice& notice, const PlanChoice& chosen, JsonText& json) {
  switch (notice.kind) {
    case NoticeKind::PhaseChanged:
      json.field("generation", notice.generation.value);
      json.field("from", to_string(notice.from)).field("to", to_string(notice.to));
      json.field("reason", to_string(notice.reason));
      return;
    case NoticeKind::Allocated:
      json.field("generation", notice.generation.value);
      json.field("replicas", notice.count).field("devices", notice.devices);
      return;
    case NoticeKind::Counted:
      json.field("counter", to_string(notice.counter)).field("value", notice.count);
      return;
    case NoticeKind::IgnoredReport:
      json.field("event", event_kind_name(notice.event_kind));
      json.field("ignored", to_string(notice.ignored));
      return;
    case NoticeKind::GrantDropped:
      json.field("ignored", to_string(notice.ignored));
      return;
    case NoticeKind::GrantClipped:
      json.field("replicas", notice.count);
      return;
    case NoticeKind::PolicyChosen:
      json.field("candidate", chosen.candidate).field("reason", chosen.reason);
      return;
    case NoticeKind::PlanLost:
      json.field("loss", to_string(notice.loss)).field("in_a_row", notice.count);
      return;
    case NoticeKind::NodeChanged:
      json.field("change", to_string(notice.change)).field("up", notice.up);
      return;
    case NoticeKind::IncidentOpened:
    case NoticeKind::IncidentClosed:
      put_incident(notice, json);
      return;
    case NoticeKind::WorkerRestarted:
      json.field("role", notice.role.value).field("local_rank", notice.local_rank);
      return;
    case NoticeKind::WorkerSuspected:
      json.field("role", notice.role.value).field("local_rank", notice.local_rank);
      json.field("suspicion", to_string(notice.suspicion));
      return;
    case NoticeKind::WorkLost:
      json.field("work", notice.work);
      return;
    case NoticeKind::WorkersReported:
      put_workers(notice, json);
      return;
  }
}

}  // namespace

void EventLog::write(const Notice& notice, const JobTable& jobs, const PlanChoice& chosen) {
  json_.begin_object();
  put_time("at_s", notice.at, number_, json_);
  if (notice.occurred_at != notice.at)
    put_time("occurred_at_s", notice.occurred_at, number_, json_);
  json_.field("kind", to_string(notice.kind));
  if (jobs.contains(notice.job)) {
    json_.field("job", jobs.name(notice.job));
  } else if (!notice.job.is_none()) {
    json_.field("job", "#" + std::to_string(notice.job.value));
  }
  if (!notice.node.is_none()) json_.field("node", notice.node.value);
  put_details(notice, chosen, json_);
  json_.end_object();
  buffer_ += json_.take();
  buffer_ += '\n';
  if (buffer_.size() >= kFlushBytes) flush();
}

void EventLog::flush() {
  out_ << buffer_;
  buffer_.clear();
}

}  // namespace orrery::sim
