#include "runtime/http/membership_polls.hpp"

#include <utility>

#include "runtime/http/job_json.hpp"

namespace orrery::http {

using runtime::ControlView;

void MembershipPolls::start() {
  const std::weak_ptr<MembershipPolls> weak = weak_from_this();
  subscription_ = client_.control().follow_changes([weak](JobId changed) {
    if (const auto self = weak.lock()) self->note(changed);
  });
}

void MembershipPolls::note(JobId changed) {
  const std::lock_guard lock(mutex_);
  changed_.insert(changed);
  // However much changes before the I/O thread gets to it, one look finds it all.
  if (!std::exchange(look_due_, true))
    client_.executor()->post([self = shared_from_this()] { self->on_changes(); });
}

void MembershipPolls::on_changes() {
  std::set<JobId> changed;
  {
    const std::lock_guard lock(mutex_);
    changed.swap(changed_);
    look_due_ = false;
  }
  const bool all = changed.contains(JobId::none());
  std::vector<std::string> jobs;
  for (auto& [job, waiting] : waiting_) {
    if (!all && !waiting.job.is_none() && !changed.contains(waiting.job)) continue;
    std::erase_if(waiting.polls,
                  [](const auto& each) { return !each.second.call->exchange->is_open(); });
    jobs.push_back(job);
  }
  std::erase_if(waiting_, [](const auto& each) { return each.second.polls.empty(); });
  for (const std::string& job : jobs) look(job);
}

void MembershipPolls::wait(CallPtr call, std::string job, Generation generation, Duration timeout) {
  const std::uint64_t number = next_number_++;
  auto timer = client_.executor()->after(timeout, [weak = weak_from_this(), job, number] {
    if (const auto self = weak.lock()) self->give_up(job, number);
  });
  // First it waits, then the state is looked at: no change can be missed in between.
  waiting_[job].polls.emplace(number, Poll{std::move(call), generation, std::move(timer)});
  look(job);
}

void MembershipPolls::look(const std::string& job) {
  const auto waiting = waiting_.find(job);
  if (waiting == waiting_.end()) return;
  Generation least{UINT32_MAX};
  for (const auto& [number, poll] : waiting->second.polls) least = std::min(least, poll.generation);
  // Where no client would get an answer nothing is copied.
  const auto post = [self = shared_from_this()](auto task) {
    self->client_.executor()->post(std::move(task));
  };
  client_.control().read([self = shared_from_this(), post, job, least](const ControlView& view) {
    if (!knows_jobs(view.facts)) return post([self, job] { self->send_elsewhere(job); });
    const JobState* found = view.state.find(view.state.named(job));
    if (found == nullptr || found->is_forgotten())
      return post([self, job] { self->answer(job, false, true, {}, {}); });
    const bool over = is_final(found->row.phase);
    const Generation now = found->row.generation;
    if (!over && now <= least)
      return post([self, job, id = found->row.id] { self->found(job, id); });
    post([self, job, over, now, membership = membership_of(view, *found)] {
      self->answer(job, true, over, now, membership_json(membership));
    });
  });
}

// From now on only changes of this very job are of interest.
void MembershipPolls::found(const std::string& name, JobId job) {
  const auto waiting = waiting_.find(name);
  if (waiting != waiting_.end()) waiting->second.job = job;
}

// Another controller leads: ControlClient tells each of them so.
void MembershipPolls::send_elsewhere(const std::string& job) {
  const auto waiting = waiting_.extract(job);
  if (waiting.empty()) return;
  for (const auto& [number, poll] : waiting.mapped().polls)
    client_.look(poll.call, [call = poll.call](const ControlView&) {
      // It leads again: the client may ask anew.
      return ControlClient::Then([call] { fail(call, 503, "the leader has changed; ask again"); });
    });
}

void MembershipPolls::answer(
    const std::string& job, bool known, bool over, Generation now, const std::string& body) {
  const auto waiting = waiting_.find(job);
  if (waiting == waiting_.end()) return;
  std::erase_if(waiting->second.polls, [&](const auto& each) {
    const Poll& poll = each.second;
    if (!over && now <= poll.generation) return false;
    if (known) {
      poll.call->exchange->respond(json_response(body));
    } else {
      fail_without_job(poll.call, job);
    }
    return true;
  });
  if (waiting->second.polls.empty()) waiting_.erase(waiting);
}

void MembershipPolls::give_up(const std::string& job, std::uint64_t number) {
  const auto waiting = waiting_.find(job);
  if (waiting == waiting_.end()) return;
  const auto poll = waiting->second.polls.find(number);
  if (poll == waiting->second.polls.end()) return;
  Response nothing_new;
  nothing_new.status = 204;
  poll->second.call->exchange->respond(std::move(nothing_new));
  waiting->second.polls.erase(poll);
  if (waiting->second.polls.empty()) waiting_.erase(waiting);
}

}  // namespace orrery::http
