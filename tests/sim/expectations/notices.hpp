// Builders of notices for tests.
#pragma once

#include "core/record/command.hpp"

namespace orrery::sim {

inline Instant at(std::int64_t seconds) { return Instant::zero() + Duration::seconds(seconds); }

inline Notice notice(NoticeKind kind, std::int64_t seconds, std::uint32_t generation = 1) {
  Notice n;
  n.kind = kind;
  n.at = n.occurred_at = at(seconds);
  n.job = JobId{0};
  n.generation = Generation{generation};
  return n;
}

inline Notice phase(std::int64_t seconds,
                    JobPhase to,
                    Reason reason,
                    std::uint32_t generation = 1) {
  Notice n = notice(NoticeKind::PhaseChanged, seconds, generation);
  n.to = to;
  n.reason = reason;
  return n;
}

inline Notice allocated(std::int64_t seconds, std::int32_t workers) {
  Notice n = notice(NoticeKind::Allocated, seconds);
  n.count = workers;
  n.devices = workers;
  return n;
}

inline Notice reported(std::int64_t seconds, WorkerFact fact, std::uint32_t first, int count) {
  Notice n = notice(NoticeKind::WorkersReported, seconds);
  n.fact = fact;
  n.first = Rank{first};
  n.count = count;
  return n;
}

inline Notice counted(std::int64_t seconds, Counter counter, std::int32_t value) {
  Notice n = notice(NoticeKind::Counted, seconds);
  n.counter = counter;
  n.count = value;
  return n;
}

inline Notice ignored(std::int64_t seconds, Ignored why) {
  Notice n = notice(NoticeKind::IgnoredReport, seconds);
  n.ignored = why;
  n.event_kind = 8;
  return n;
}

inline Notice incident(std::int64_t seconds, std::uint32_t number, Reason cause) {
  Notice n = notice(NoticeKind::IncidentOpened, seconds);
  n.incident = number;
  n.reason = cause;
  return n;
}

inline Notice recovered(std::int64_t seconds, std::uint32_t number) {
  Notice n = notice(NoticeKind::IncidentClosed, seconds);
  n.incident = number;
  return n;
}

inline Notice restarted(std::int64_t seconds, std::uint16_t role, std::int32_t local_rank) {
  Notice n = notice(NoticeKind::WorkerRestarted, seconds);
  n.role = RoleIndex{role};
  n.local_rank = local_rank;
  return n;
}

inline Notice lost_work(std::int64_t seconds, double work) {
  Notice n = notice(NoticeKind::WorkLost, seconds);
  n.work = work;
  return n;
}

inline Notice node_change(std::int64_t seconds, std::uint32_t node, NodeChange change) {
  Notice n = notice(NoticeKind::NodeChanged, seconds);
  n.job = JobId::none();
  n.node = NodeId{node};
  n.change = change;
  return n;
}

}  // namespace orrery::sim
