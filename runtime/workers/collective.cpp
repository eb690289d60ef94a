#include "runtime/workers/collective.hpp"

namespace orrery::worker {

Outcome Collective::rebuild(const Group& group) {
  leave();
  group_ = group;
  {
    const std::scoped_lock lock(mutex_);
    cancel_ = std::make_shared<Cancel>();
    generation_ = group.meeting.generation;
    if (generation_ < cancelled_before_) cancel_->set();
  }
  Outcome built = meet_and_build(Deadline::in(times_.build));
  in_group_ = true;
  return ended(std::move(built));
}

Outcome Collective::meet_and_build(Deadline deadline) {
  if (group_.world_size == 1) return build(nullptr, limits(deadline));
  Outcome step = open_meeting(limits(deadline));
  if (step.ok()) step = Rendezvous::join(group_.meeting, limits(deadline), meeting_);
  if (!step.ok()) return step;
  step = agree_on_backend(*meeting_);
  if (step.ok()) step = build(meeting_.get(), limits(deadline));
  // A rank that begins must find all others able to.
  if (step.ok()) step = do_barrier(limits(deadline));
  return step;
}

Outcome Collective::open_meeting(const Limits& limits) {
  if (group_.rank != 0) return Outcome::done();
  for (;;) {
    Result<std::unique_ptr<RendezvousServer>> server = RendezvousServer::start(group_.meeting);
    if (server) {
      server_ = std::move(server).value();
      return Outcome::done();
    }
    // Rank 0 of the last generation may hold the port a moment longer.
    Outcome waited = wait_time(Milliseconds(20), limits, server.errors().front().text());
    if (!waited.ok()) return waited;
  }
}

Outcome Collective::agree_on_backend(Rendezvous& meeting) {
  const auto key = [](std::int32_t rank) { return "backend/" + std::to_string(rank); };
  Outcome step = meeting.set(key(group_.rank), name());
  // Rank 0 asks every rank, so that a difference is reported at both ends.
  const std::int32_t asked = group_.rank == 0 ? group_.world_size : 1;
  for (std::int32_t rank = 0; step.ok() && rank < asked; ++rank) {
    std::string theirs;
    step = meeting.get(key(rank), theirs);
    if (step.ok() && theirs != name())
      step = Outcome::fatal("rank " + std::to_string(rank) + " uses " + theirs + ", this rank " +
                            std::string(name()) + "; give all ranks the same --backend");
  }
  return step;
}

Outcome Collective::all_reduce(std::span<float> floats) {
  if (!in_group_) return Outcome::peer_lost("the group was left; build the next generation first");
  if (cancel_->is_set()) return ended(Outcome::cancelled());
  return ended(do_all_reduce(floats, limits(times_.operation)));
}

Outcome Collective::barrier() {
  if (!in_group_) return Outcome::peer_lost("the group was left; build the next generation first");
  if (cancel_->is_set()) return ended(Outcome::cancelled());
  return ended(do_barrier(limits(times_.operation)));
}

Outcome Collective::ended(Outcome outcome) {
  if (!outcome.ok()) leave();
  return outcome;
}

void Collective::leave() {
  in_group_ = false;
  close();
  meeting_.reset();
  server_.reset();
}

void Collective::cancel_before(std::uint64_t generation) {
  const std::scoped_lock lock(mutex_);
  if (generation <= cancelled_before_) return;
  cancelled_before_ = generation;
  if (generation_ < generation) cancel_->set();
}

}  // namespace orrery::worker
