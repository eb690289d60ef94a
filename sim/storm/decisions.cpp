#include "sim/storm/decisions.hpp"

#include <algorithm>

#include "core/control/status.hpp"
#include "core/control/user_events.hpp"
#include "core/record/codec.hpp"

namespace orrery::sim {
namespace {

void put(Encoder& out, const Notice& notice) {
  out.put(notice.kind);
  out.put(notice.at);
  out.put(notice.occurred_at);
  out.put(notice.job);
  out.put(notice.node);
  out.put(notice.generation);
  out.put(notice.from);
  out.put(notice.to);
  out.put(notice.reason);
  out.put(notice.ignored);
  out.put(notice.counter);
  out.put(notice.fact);
  out.put(notice.first);
  out.put(notice.count);
  out.put(notice.devices);
  out.put(notice.exit_code);
  out.put(notice.up);
  out.put(notice.change);
  out.put(notice.scope);
  out.put(notice.incident);
  out.put(notice.charged);
  out.put(notice.role);
  out.put(notice.local_rank);
  out.put(notice.suspicion);
  out.put(notice.work);
  out.put(notice.event_kind);
  const UserEvent event = user_event(notice);
  out.put(event.severity);
  out.put(event.name);
  out.put(event.message);
}

}  // namespace

void DecisionRecorder::add(DecisionPart part, Digest digest) {
  parts_[static_cast<std::size_t>(part)].update(digest.high);
  parts_[static_cast<std::size_t>(part)].update(digest.low);
}

void DecisionRecorder::take(DecisionPart part) {
  parts_[static_cast<std::size_t>(part)].update(bytes_.bytes());
  bytes_.clear();
}

void DecisionRecorder::appended(const StoredRecord& record) {
  parts_[static_cast<std::size_t>(DecisionPart::Journal)].update(record.bytes);
}

void DecisionRecorder::ordered(Instant now, const Command& order) {
  Encoder out(bytes_);
  out.put(now);
  out.put(order);
  take(DecisionPart::Orders);
}

void DecisionRecorder::told(std::span<const Notice> notices, const State& state) {
  if (notices.empty()) return;
  Encoder out(bytes_);
  for (const Notice& notice : notices) put(out, notice);
  take(DecisionPart::Notices);
  // What one job does is a reason for others to wait, or not to.
  const bool phases = std::any_of(notices.begin(), notices.end(), [](const Notice& notice) {
    return notice.kind == NoticeKind::PhaseChanged || notice.kind == NoticeKind::NodeChanged;
  });
  state.for_each_job([&](const JobState& job) {
    const bool named = std::any_of(notices.begin(), notices.end(), [&](const Notice& notice) {
      return notice.job == job.row.id;
    });
    if (named || (phases && !is_final(job.row.phase))) out.put(status_of(state, job));
  });
  take(DecisionPart::Statuses);
}

void DecisionRecorder::process(Instant now, const WorldProcess& process, bool began) {
  Encoder out(bytes_);
  out.put(now);
  out.put(began);
  out.put(process.job);
  out.put(process.incarnation);
  out.put(process.birth_rank);
  out.put(process.generation);
  out.put(process.rank);
  out.put(process.role);
  out.put(process.local_rank);
  out.put(process.node);
  out.put(process.devices);
  out.put(process.share);
  take(DecisionPart::Processes);
}

DecisionDigests DecisionRecorder::digests() const {
  DecisionDigests out{};
  for (std::size_t i = 0; i < kDecisionParts; ++i)
    out[i] = static_cast<std::uint32_t>(parts_[i].finish().high);
  return out;
}

}  // namespace orrery::sim
