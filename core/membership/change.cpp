#include "core/membership/change.hpp"

#include <cstddef>

namespace orrery {

RankFlags present_after(const MembershipChange& change) {
  RankFlags present(change.keep.size(), 0);
  for (std::size_t i = 0; i < present.size(); ++i)
    present[i] = change.keep[i] != 0 || change.replace[i] != 0;
  return present;
}

WorkerStart start_of(const JobState& job, std::uint32_t rank) {
  const Worker& worker = job.workers[rank];
  return {Rank{rank},
          worker.role,
          worker.local_rank,
          worker.node,
          worker.incarnation,
          worker.devices,
          worker.share,
          Rank::none(),
          worker.hardware,
          worker.first_port,
          worker.beside};
}

WorkerStop stop_of(const Worker& worker, std::uint32_t rank) {
  return {Rank{rank}, worker.node, worker.incarnation, worker.birth_rank};
}

Worker successor_of(const Ledger& ledger, Worker& worker) {
  Worker again = worker;
  if (!worker.lease.is_none()) again.first_port = ledger.lease(worker.lease).ports.first;
  again.state = WorkerState::Claimed;
  again.exit_code = 0;
  again.diagnosis.clear();
  again.recover = true;
  worker.lease = LeaseId::none();
  return again;
}

bool must_start_anew(const JobState& job, const Worker& worker) {
  if (worker.lease.is_none()) return false;
  if (job.spec->rescale == RescaleMode::Restart) return true;
  return job.spec->rescale == RescaleMode::Auto && worker.state == WorkerState::Ready &&
         worker.environment.value != 0;
}

bool is_stranded(const State& state, const Worker& worker) {
  return worker.is_gone() && !worker.lease.is_none() && !state.ledger.node(worker.node).usable &&
         state.settings.rules >= 2;
}

}  // namespace orrery
