#include "sim/rehearsal/recorded_world.hpp"

#include <algorithm>
#include <variant>

namespace orrery::sim {

RecordedWorld::RecordedWorld(World& world, const RecordedRun& run, bool with_nodes)
    : world_(world),
      run_(run),
      with_nodes_(with_nodes),
      jobs_(run.jobs.size()),
      answered_(run.jobs.size()) {
  for (std::uint32_t k = 0; k < run.jobs.size(); ++k) {
    const JobId id = run.jobs[k].id;
    if (id.is_none()) continue;
    if (numbers_.size() <= id.index()) numbers_.resize(id.index() + 1, UINT32_MAX);
    numbers_[id.index()] = k;
  }
}

void RecordedWorld::issue(const Command& command) {
  if (const auto* answer = std::get_if<AnswerRequest>(&command.body))
    if (answer->request >= 1 && answer->request <= jobs_.size()) {
      answered_[answer->request - 1] = true;
      if (answer->accepted) jobs_[answer->request - 1] = answer->job;
    }
  world_.issue(command);
}

bool RecordedWorld::wait_events(Instant deadline, std::vector<Event>& events) {
  const std::size_t before = events.size();
  const bool more = next_ < run_.requests.size();
  const Instant next = more ? run_.requests[next_].at : Instant::never();
  const bool goes_on = world_.wait_events(std::min(deadline, next), events);
  if (more && world_.now() >= next) say_what_is_due(events);
  // What was said of a job that is not there any more needs no answer: time goes on.
  if (events.size() == before && more && world_.now() >= next && next <= deadline)
    return next_ < run_.requests.size() ? true : goes_on;
  return goes_on || more;
}

void RecordedWorld::say_what_is_due(std::vector<Event>& events) {
  while (next_ < run_.requests.size() && run_.requests[next_].at <= world_.now()) {
    Event event = run_.requests[next_++];
    event.at = world_.now();
    event.occurred_at = std::min(event.occurred_at, event.at);
    event.origin = Origin::External;
    if (translated(event.body)) events.push_back(std::move(event));
  }
}

// By the ids of now; false where it is not to be said.
bool RecordedWorld::translated(EventBody& body) const {
  return std::visit(
      [this](auto& said) {
        using T = std::decay_t<decltype(said)>;
        if constexpr (std::is_same_v<T, NodesDeclared> || std::is_same_v<T, QuotasDeclared>)
          if (!with_nodes_) return false;
        if constexpr (requires { said.request; }) said.request = 0;
        if constexpr (requires { said.job; }) {
          if (said.job.is_none() || said.job.index() >= numbers_.size()) return false;
          const std::uint32_t number = numbers_[said.job.index()];
          if (number == UINT32_MAX || jobs_[number].is_none()) return false;
          said.job = jobs_[number];
        }
        return true;
      },
      body);
}

}  // namespace orrery::sim
