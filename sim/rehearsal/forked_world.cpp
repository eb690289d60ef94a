#include "sim/rehearsal/forked_world.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace orrery::sim {

ForkedJobs::ForkedJobs(Instant now,
                       std::vector<ForkedJob> live,
                       std::vector<ModelJob> to_come,
                       JobSource* later)
    : now_(now), live_(std::move(live)), to_come_(std::move(to_come)), later_(later) {}

std::optional<ModelJob> ForkedJobs::next() {
  const std::size_t at = next_++;
  if (at < live_.size()) {
    ModelJob job = live_[at].job;
    job.submit = now_;
    return job;
  }
  if (at - live_.size() < to_come_.size()) return to_come_[at - live_.size()];
  return later_ == nullptr ? std::nullopt : later_->next();
}

ForkedWorld::ForkedWorld(ModelWorld& world, const ForkedJobs& source, const State& state)
    : world_(world), live_(source.live().size()), forked_at_(state.now) {
  for (const ForkedJob& job : source.live())
    if (job.done > 0) done_[job.id] = job.done;
  begin(state);
  for (std::size_t k = 0; k < live_; ++k) {
    const JobId id = source.live()[k].id;
    order(AnswerRequest{k + 1, id, true, {}});
    if (const JobState* job = state.find(id)) place(*job);
  }
}

// Up to the fork nothing of what happens is news but the submissions that come after it.
void ForkedWorld::begin(const State& state) {
  std::vector<Event> happened;
  while (world_.now() < state.now || world_.submitted() < live_) {
    happened.clear();
    if (!world_.wait_events(state.now, happened) && world_.now() >= state.now) break;
    for (Event& event : happened) {
      const auto* submitted = std::get_if<JobSubmitted>(&event.body);
      if (submitted != nullptr && submitted->request > live_) pending_.push_back(std::move(event));
    }
  }
}

// One order for each start that its workers are of, in the order of these starts, and the
// membership that they have come to since.
void ForkedWorld::place(const JobState& job) {
  using Birth = std::pair<Generation, Incarnation>;
  std::map<Birth, StartWorkers> starts;
  Birth last;  // Nearly always all workers of a job were born together.
  StartWorkers* together = nullptr;
  UpdateMembership membership{job.row.id, job.row.generation, 0, {}};
  StopWorkers stops{job.row.id, job.row.generation, job.spec->drain_grace, {}};
  membership.members.reserve(job.workers.size());
  for (std::size_t r = 0; r < job.workers.size(); ++r) {
    const Worker& worker = job.workers[r];
    if (!worker.is_alive()) continue;
    WorkerStart start;
    start.rank = worker.birth_rank;
    start.role = worker.role;
    start.local_rank = worker.local_rank;
    start.node = worker.node;
    start.incarnation = worker.incarnation;
    start.devices = worker.devices;
    start.share = worker.share;
    start.hardware = worker.hardware;
    start.first_port = worker.first_port;
    start.beside = worker.beside;
    if (const Birth birth{worker.born, worker.incarnation}; together == nullptr || birth != last) {
      last = birth;
      together = &starts[birth];
      together->job = job.row.id;
      together->generation = worker.born;
      if (together->workers.empty()) together->workers.reserve(job.workers.size() - r);
    }
    together->workers.push_back(start);
    start.rank = Rank{static_cast<std::uint32_t>(r)};
    start.birth_rank = worker.birth_rank;
    membership.members.push_back(start);
    if (worker.state == WorkerState::Draining)
      stops.workers.push_back({start.rank, worker.node, worker.incarnation, worker.birth_rank});
  }
  if (starts.empty()) return;
  for (auto& [born, start] : starts) {
    start.world_size = static_cast<std::uint32_t>(start.workers.size());
    order(std::move(start));
  }
  membership.world_size = static_cast<std::uint32_t>(membership.members.size());
  order(std::move(membership));
  if (!stops.workers.empty()) order(std::move(stops));
}

void ForkedWorld::order(CommandBody body) {
  world_.issue({Sequence{0}, orders_++, Epoch{0}, std::move(body)});
}

bool ForkedWorld::wait_events(Instant deadline, std::vector<Event>& events) {
  if (!pending_.empty()) {
    std::move(pending_.begin(), pending_.end(), std::back_inserter(events));
    pending_.clear();
    return true;
  }
  const std::size_t before = events.size();
  const bool goes_on = world_.wait_events(deadline, events);
  for (std::size_t i = before; i < events.size(); ++i) {
    auto* progress = std::get_if<ProgressReported>(&events[i].body);
    const auto done = progress == nullptr ? done_.end() : done_.find(progress->job);
    if (done != done_.end()) progress->done += done->second;
  }
  // What a job is known to have told is in the state.
  events.erase(std::remove_if(events.begin() + static_cast<std::ptrdiff_t>(before),
                              events.end(),
                              [&](const Event& event) {
                                return event.at <= forked_at_ &&
                                       std::holds_alternative<ProgressReported>(event.body);
                              }),
               events.end());
  return goes_on;
}

}  // namespace orrery::sim
