#include "runtime/local/local_world.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/agent/worker_reports.hpp"
#include "core/base/invariant.hpp"
#include "runtime/local/worker_environment.hpp"

namespace orrery::runtime {
namespace {

constexpr NodeId kNode{0};

// How often processes without a descriptor are asked.
constexpr Duration kPollPeriod = Duration::milliseconds(10);

timespec as_timespec(Duration duration) {
  const std::int64_t ns = std::max<std::int64_t>(duration.ns, 0);
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace

LocalWorld::LocalWorld(LocalOptions options)
    : options_(std::move(options)),
      queue_(clock_),
      knocker_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      processes_(options_.log_folder),
      agent_(AgentSettings::of(kNode, 1, options_.settings)),
      liveness_(options_.epoch, options_.settings, 1, clock_.now()),
      requests_(options_.requests) {
  invariant(knocker_ >= 0, "the system gives an event descriptor");
  invariant(std::ranges::is_sorted(options_.submissions, {}, &LocalSubmission::at),
            "submissions come in the order of their times");
  std::ranges::stable_sort(requests_, {}, &LocalRequest::at);
  thread_ = std::thread([this] { live(); });
}

LocalWorld::~LocalWorld() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  eventfd_write(knocker_, 1);
  thread_.join();
  close(knocker_);
}

void LocalWorld::issue(const Command& command) {
  const std::lock_guard lock(mutex_);
  orders_.push_back(command);
  queue_.set_ended(false);
  eventfd_write(knocker_, 1);
}

LocalCounters LocalWorld::counters() const {
  const QueueCounters queue = queue_.counters();
  const std::lock_guard lock(mutex_);
  LocalCounters counters = counters_;
  counters.completions = queue.completions;
  counters.max_completion_delay = queue.max_completion_delay;
  return counters;
}

std::vector<std::string> LocalWorld::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

// All below runs on the world's thread.

void LocalWorld::live() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
    }
    take_orders();
    take_ends();
    carry_schedule_out();
    if (agent_.next_deadline() <= now()) agent_step(TimePassed{});
    std::vector<EventBody> edges;
    liveness_.time_reached(now(), edges);
    journal(edges);
    look_for_the_end();
    wait_for_work();
  }
}

void LocalWorld::take_orders() {
  std::vector<Command> orders;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
  }
  for (const Command& command : orders) obey(command);
}

void LocalWorld::obey(const Command& command) {
  if (const auto* answer = std::get_if<AnswerRequest>(&command.body)) return answered(*answer);
  if (std::holds_alternative<RelaunchNodes>(command.body)) {
    // This machine cannot be exchanged for another.
    const auto& relaunch = std::get<RelaunchNodes>(command.body);
    queue_.push(Origin::External,
                NodesRelaunched{relaunch.job, relaunch.incident, {}, "no launcher is configured"});
    return;
  }
  liveness_.ordered(command.body);
  if (command.epoch >= agent_.epoch()) memberships_.ordered(command.body);
  agent_step(CommandReceived{command});
}

void LocalWorld::answered(const AnswerRequest& answer) {
  const auto asked = unanswered_.find(answer.request);
  if (asked == unanswered_.end()) {
    if (!answer.accepted) warn(answer.message);
    return;
  }
  const std::shared_ptr<const JobSpec> spec = asked->second;
  unanswered_.erase(asked);
  if (!answer.accepted) return warn(answer.message);
  names_[spec->name] = answer.job;
  jobs_[answer.job] = spec;
  for (const std::string& sentence : overruled_variables(*spec))
    warn("job " + spec->name + ": " + sentence);
}

void LocalWorld::carry_schedule_out() {
  const std::vector<LocalSubmission>& submissions = options_.submissions;
  while (next_submission_ < submissions.size() && submissions[next_submission_].at <= now()) {
    const std::shared_ptr<const JobSpec>& spec = submissions[next_submission_].spec;
    const std::uint64_t request = ++next_submission_;
    unanswered_[request] = spec;
    queue_.push(Origin::External, JobSubmitted{request, spec});
  }
  std::vector<LocalRequest> later;
  for (const LocalRequest& request : requests_) {
    const auto named = names_.find(request.job);
    if (request.at > now() || (named == names_.end() && is_coming(request.job))) {
      later.push_back(request);
    } else if (named == names_.end()) {
      warn("job " + request.job + ": a request names it, but no such job was accepted");
    } else if (request.stop) {
      queue_.push(Origin::External, StopRequested{0, named->second});
    } else {
      queue_.push(
          Origin::External,
          ScaleRequested{0, named->second, request.role, request.mode, request.replicas, true});
    }
  }
  requests_ = std::move(later);
}

/// Whether a job of this name is still to be submitted, or to be answered.
bool LocalWorld::is_coming(const std::string& job) const {
  const auto is_named = [&](const auto& spec) { return spec->name == job; };
  for (std::size_t i = next_submission_; i < options_.submissions.size(); ++i)
    if (is_named(options_.submissions[i].spec)) return true;
  return std::ranges::any_of(unanswered_,
                             [&](const auto& entry) { return is_named(entry.second); });
}

void LocalWorld::take_ends() {
  const std::vector<WorkerEnd> ends = processes_.take_ends();
  for (const WorkerEnd& end : ends)
    agent_.step(WorkerExited{end.worker, end.exit_code}, now(), output_);
  if (!ends.empty()) carry_out();
}

void LocalWorld::agent_step(const AgentEvent& event) {
  agent_.step(event, now(), output_);
  carry_out();
}

/// First what the agent orders, then what it reports, then its complete list, whose answer may
/// make it speak again.
void LocalWorld::carry_out() {
  while (true) {
    run_actions();
    std::vector<WorkersChanged> reports = std::exchange(output_.reports, {});
    pack_reports(reports);
    std::vector<EventBody> edges;
    for (const WorkersChanged& report : reports) liveness_.reported(kNode, report, edges);
    journal(edges);
    const std::optional<Heartbeat> beat = std::exchange(output_.heartbeat, std::nullopt);
    output_.clear();
    if (!beat) return;
    const std::optional<AgentEvent> answer = hear(*beat);
    if (!answer) return;
    agent_.step(*answer, now(), output_);
  }
}

void LocalWorld::run_actions() {
  // A worker that cannot be started may make room for one that waits.
  while (!output_.actions.empty()) {
    const std::vector<AgentAction> actions = std::exchange(output_.actions, {});
    std::vector<AgentEvent> answers;
    for (const AgentAction& action : actions) {
      if (const auto* order = std::get_if<SpawnWorker>(&action)) spawn(*order, answers);
      if (const auto* order = std::get_if<SignalWorker>(&action)) processes_.signal(*order);
      // TellMembership: a plain program cannot be notified of it.
    }
    for (const AgentEvent& answer : answers) agent_.step(answer, now(), output_);
  }
}

void LocalWorld::spawn(const SpawnWorker& order, std::vector<AgentEvent>& answers) {
  const auto job = jobs_.find(order.worker.job);
  invariant(job != jobs_.end(), "workers are started of accepted jobs only");
  const Status spawned =
      processes_.spawn(order, *job->second, memberships_.members(order.worker.job));
  if (spawned) {
    answers.emplace_back(WorkerReady{order.worker});
    return;
  }
  warn("job " + job->second->name + ": " + spawned.errors()[0].text());
  answers.emplace_back(SpawnFailed{order.worker});
}

/// The leader's session, on this side of the queue: leases wait for no other work. Returns its
/// answer.
std::optional<AgentEvent> LocalWorld::hear(const Heartbeat& beat) {
  std::vector<EventBody> edges;
  const HeartbeatVerdict verdict = liveness_.heard(beat, now(), edges);
  journal(edges);
  if (verdict == HeartbeatVerdict::StaleEpoch) return EpochAnnounced{options_.epoch};
  if (verdict != HeartbeatVerdict::Renewed) return std::nullopt;
  const Instant renewed = now();
  {
    const std::lock_guard lock(mutex_);
    ++counters_.renewals;
    if (last_renewal_)
      counters_.max_renewal_gap = std::max(counters_.max_renewal_gap, renewed - *last_renewal_);
  }
  last_renewal_ = renewed;
  return LeaseRenewed{options_.epoch, beat.sent_at};
}

void LocalWorld::journal(const std::vector<EventBody>& edges) {
  for (const EventBody& edge : edges) {
    const bool of_node =
        std::holds_alternative<NodeSilent>(edge) || std::holds_alternative<NodeReturned>(edge);
    queue_.push(of_node ? Origin::External : Origin::Reaction, edge);
  }
}

void LocalWorld::look_for_the_end() {
  const std::lock_guard lock(mutex_);
  queue_.set_ended(orders_.empty() && next_submission_ == options_.submissions.size() &&
                   unanswered_.empty() && requests_.empty() && agent_.workers().empty());
}

void LocalWorld::wait_for_work() {
  std::vector<int> descriptors{knocker_};
  processes_.append_descriptors(descriptors);
  std::vector<pollfd> polled;
  polled.reserve(descriptors.size());
  for (const int descriptor : descriptors) polled.push_back({descriptor, POLLIN, 0});
  Duration longest = next_deadline() - now();
  if (processes_.must_be_polled()) longest = std::min(longest, kPollPeriod);
  const timespec timeout = as_timespec(longest);
  ppoll(polled.data(), polled.size(), &timeout, nullptr);
  eventfd_t knocks = 0;
  eventfd_read(knocker_, &knocks);
}

Instant LocalWorld::next_deadline() const {
  Instant deadline = std::min(agent_.next_deadline(), liveness_.next_deadline());
  if (next_submission_ < options_.submissions.size())
    deadline = std::min(deadline, options_.submissions[next_submission_].at);
  // A request that waits for its job's acceptance comes with the order that answers it.
  for (const LocalRequest& request : requests_)
    if (request.at > now()) deadline = std::min(deadline, request.at);
  return deadline;
}

void LocalWorld::warn(std::string sentence) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(std::move(sentence));
}

}  // namespace orrery::runtime
