#include "tests/runtime/http/fake_control.hpp"

#include <algorithm>

#include "core/control/user_events.hpp"

namespace orrery::tests {

using runtime::ControlView;
using runtime::EventLine;
using runtime::RequestOutcome;

class FakeControl::Handle final : public runtime::Subscription {
 public:
  Handle(FakeControl& control, std::uint64_t number) : control_(control), number_(number) {}

  ~Handle() override { control_.forget(number_); }

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

 private:
  FakeControl& control_;
  std::uint64_t number_;
};

FakeControl::FakeControl(Thread thread, std::int32_t nodes) : thread_kind_(thread) {
  facts_.admission = runtime::Admission::Open;
  facts_.name = "fake";
  facts_.epoch = Epoch{1};
  NodeGroup group{"default", nodes, MilliCpu{64000}, Bytes{std::int64_t{64} << 30}, 4, "h200", 0};
  for (std::int32_t i = 0; i < nodes; ++i) {
    group.node_names.push_back("n" + std::to_string(i));
    runtime::NodeFacts& node = nodes_.emplace_back();
    node.name = group.node_names.back();
    node.address = "10.0.0." + std::to_string(i + 1);
    node.connected = true;
  }
  step_one(EpochStarted{Epoch{1}, Settings{}});
  step_one(NodesDeclared{{group}});
  if (thread == Thread::Own) thread_ = std::thread([this] { run(); });
}

FakeControl::~FakeControl() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  // A follower may own its own handle, by way of an answer that is still open.
  std::vector<std::shared_ptr<Follower>> left;
  const std::lock_guard lock(mutex_);
  left.swap(followers_);
}

// --- threads ---

void FakeControl::run() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

void FakeControl::post(std::function<void()> task) {
  if (thread_kind_ == Thread::Caller) return task();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void FakeControl::on_core(const std::function<void()>& task) {
  std::promise<void> done;
  post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

// --- the interface ---

void FakeControl::read(std::function<void(const ControlView&)> look) {
  post([this, look = std::move(look)] {
    look(ControlView{std::as_const(controller_).state(), facts_, nodes_, now_, tokens_});
  });
}

void FakeControl::ask(EventBody request, std::function<void(const RequestOutcome&)> done) {
  post([this, request = std::move(request), done = std::move(done)] {
    if (const JobId gone = std::exchange(goes_first_, JobId::none()); !gone.is_none())
      outcome_of(DeleteRequested{0, gone});
    if (answers_left_-- <= 0)
      return done({RequestOutcome::Kind::Unavailable,
                   JobId::none(),
                   "it is not known whether it was written"});
    done(outcome_of(request));
  });
}

void FakeControl::when_durable(std::function<void(const RequestOutcome&)> done) {
  post([this, done = std::move(done)] {
    if (loses_) return done({RequestOutcome::Kind::Unavailable, JobId::none(), "it is lost"});
    done({RequestOutcome::Kind::Accepted, JobId::none(), {}});
  });
}

RequestOutcome FakeControl::outcome_of(const EventBody& request) {
  if (facts_.admission != runtime::Admission::Open)
    return {RequestOutcome::Kind::Unavailable, JobId::none(), facts_.why};
  EventBody body = request;
  if (auto* measured = std::get_if<ProfilingChanged>(&body)) {
    measured_.push_back(measured->rank);
    if (measured->rank.is_none()) measured->rank = Rank{0};
  }
  std::visit(
      [&](auto& record) {
        if constexpr (requires { record.request; })
          if (record.request == 0) record.request = ++last_request_;
      },
      body);
  answers_.clear();
  ignored_ = 0;
  step_one(std::move(body));
  const std::vector<AnswerRequest> answers = answers_;
  const bool was_ignored = ignored_ > 0;
  settle();
  if (answers.empty())
    return {was_ignored ? RequestOutcome::Kind::Refused : RequestOutcome::Kind::Accepted,
            JobId::none(),
            was_ignored ? "it changed nothing" : ""};
  return {answers[0].accepted ? RequestOutcome::Kind::Accepted : RequestOutcome::Kind::Refused,
          answers[0].job,
          answers[0].message};
}

std::unique_ptr<runtime::Subscription> FakeControl::follow(Follower follower) {
  const std::lock_guard lock(mutex_);
  follower.number = next_follower_++;
  followers_.push_back(std::make_shared<Follower>(std::move(follower)));
  return std::make_unique<Handle>(*this, next_follower_ - 1);
}

void FakeControl::forget(std::uint64_t number) {
  std::vector<std::shared_ptr<Follower>> gone;
  const std::lock_guard lock(mutex_);
  for (const auto& each : followers_)
    if (each->number == number) gone.push_back(each);
  std::erase_if(followers_, [&](const auto& each) { return each->number == number; });
}

std::unique_ptr<runtime::Subscription> FakeControl::follow_events(
    std::size_t backlog, std::function<void(const EventLine&)> told) {
  post([this, backlog, told] {
    const std::size_t from = lines_.size() - std::min(backlog, lines_.size());
    for (std::size_t i = from; i < lines_.size(); ++i) told(lines_[i]);
  });
  Follower follower;
  follower.event = std::move(told);
  return follow(std::move(follower));
}

std::unique_ptr<runtime::Subscription> FakeControl::follow_changes(
    std::function<void(JobId)> changed) {
  Follower follower;
  follower.change = std::move(changed);
  return follow(std::move(follower));
}

std::unique_ptr<runtime::Subscription> FakeControl::read_log(
    const runtime::LogQuery& query, std::function<void(const runtime::LogPiece&)> told) {
  Follower follower;
  follower.log = std::move(told);
  {
    const std::lock_guard lock(mutex_);
    log_queries_.push_back(query);
  }
  return follow(std::move(follower));
}

// --- for tests ---

void FakeControl::step(EventBody body) {
  on_core([&] {
    step_one(std::move(body));
    settle();
  });
}

void FakeControl::grant(JobId job, std::int32_t replicas) {
  Plan plan;
  plan.grants.push_back({job, RoleIndex::none(), replicas, 0, 0});
  step(PlanProposed{{}, PlanTrigger::Period, {}, plan});
}

JobId FakeControl::running(const JobSpec& spec, std::int32_t replicas) {
  step(JobSubmitted{0, std::make_shared<const JobSpec>(spec)});
  const JobId id = with([&](const State& state) { return state.named(spec.name); });
  grant(id, replicas);
  return id;
}

void FakeControl::end_worker(JobId job, std::uint32_t rank, std::int32_t exit_code) {
  on_core([&] {
    const auto found = std::find_if(processes_.begin(), processes_.end(), [&](const Process& p) {
      return p.job == job && p.rank == Rank{rank};
    });
    if (found == processes_.end()) return;
    const Process p = *found;
    processes_.erase(found);
    step_one(WorkersChanged{
        p.job, p.born, p.incarnation, WorkerFact::Exited, p.birth_rank, 1, exit_code});
    settle();
  });
}

void FakeControl::tell_log(const std::string& data, bool last, const std::string& error) {
  tell_log({.data = data, .last = last, .error = error});
}

void FakeControl::tell_log(const runtime::LogPiece& piece) {
  std::vector<std::shared_ptr<Follower>> all;
  {
    const std::lock_guard lock(mutex_);
    all = followers_;
  }
  for (const auto& follower : all)
    if (follower->log) follower->log(piece);
}

void FakeControl::set_tokens(const runtime::TokenOwners& tokens) {
  on_core([&] { tokens_ = &tokens; });
}

void FakeControl::set_facts(const std::function<void(runtime::ControllerFacts&)>& change) {
  on_core([&] {
    const runtime::Admission before = facts_.admission;
    change(facts_);
    if (facts_.admission != before) tell_changed(JobId::none());
  });
}

std::size_t FakeControl::open_logs() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      followers_.begin(), followers_.end(), [](const auto& f) { return f->log != nullptr; }));
}

void FakeControl::fails_after(int requests) {
  on_core([&] { answers_left_ = requests; });
}

void FakeControl::lose_what_is_decided() {
  on_core([&] { loses_ = true; });
}

void FakeControl::deleted_before_next_request(JobId job) {
  on_core([&] { goes_first_ = job; });
}

std::vector<Rank> FakeControl::measured() {
  std::vector<Rank> out;
  on_core([&] { out = measured_; });
  return out;
}

std::vector<runtime::LogQuery> FakeControl::log_queries() {
  const std::lock_guard lock(mutex_);
  return log_queries_;
}

// --- the core and its workers ---

void FakeControl::step_one(EventBody body) {
  now_ = now_ + Duration::milliseconds(1);
  Commands out;
  controller_.step({now_, now_, Origin::External, std::move(body)}, out);
  for (const CommandBody& order : out.orders) carry_out(order);
  tell(out.notices);
}

void FakeControl::settle() {
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < processes_.size() && !more; ++i) {
      Process& p = processes_[i];
      more = p.stopping || !p.ready;
      if (!more) continue;
      const WorkerFact fact = p.stopping ? WorkerFact::Exited : WorkerFact::Ready;
      const WorkersChanged report{
          p.job, p.born, p.incarnation, fact, p.birth_rank, 1, p.stopping ? 143 : 0};
      if (p.stopping) {
        processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        p.ready = true;
      }
      step_one(report);
    }
  }
}

void FakeControl::carry_out(const CommandBody& order) {
  if (const auto* answer = std::get_if<AnswerRequest>(&order)) answers_.push_back(*answer);
  if (const auto* start = std::get_if<StartWorkers>(&order))
    for (const WorkerStart& worker : start->workers)
      processes_.push_back({start->job,
                            worker.incarnation,
                            start->generation,
                            worker.rank,
                            start->generation,
                            worker.rank});
  if (const auto* update = std::get_if<UpdateMembership>(&order))
    for (const WorkerStart& member : update->members)
      for (Process& p : processes_)
        if (p.job == update->job && p.incarnation == member.incarnation &&
            p.birth_rank == member.birth_rank) {
          p.generation = update->generation;
          p.rank = member.rank;
        }
  if (const auto* stop = std::get_if<StopWorkers>(&order))
    for (const WorkerStop& target : stop->workers)
      for (Process& p : processes_) {
        if (p.job != stop->job || p.incarnation != target.incarnation) continue;
        if ((p.generation == stop->generation && p.rank == target.rank) ||
            (p.born == stop->generation && p.birth_rank == target.rank))
          p.stopping = true;
      }
}

void FakeControl::tell(const std::vector<Notice>& notices) {
  std::vector<std::shared_ptr<Follower>> all;
  {
    const std::lock_guard lock(mutex_);
    all = followers_;
  }
  for (const Notice& notice : notices) {
    if (notice.kind == NoticeKind::IgnoredReport) ++ignored_;
    EventLine line{lines_.size() + 1, notice.at, {}, {}, user_event(notice)};
    if (const JobState* job = std::as_const(controller_).state().find(notice.job))
      line.job = job->spec->name;
    lines_.push_back(line);
    for (const auto& follower : all)
      if (follower->event) follower->event(line);
  }
  for (const Notice& notice : notices) tell_changed(notice.job);
}

void FakeControl::tell_changed(JobId job) {
  std::vector<std::shared_ptr<Follower>> all;
  {
    const std::lock_guard lock(mutex_);
    all = followers_;
  }
  for (const auto& follower : all)
    if (follower->change) follower->change(job);
}

}  // namespace orrery::tests
