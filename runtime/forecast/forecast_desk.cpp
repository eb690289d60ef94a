#include "runtime/forecast/forecast_desk.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <utility>

#include "core/base/invariant.hpp"
#include "runtime/forecast/forecast_frames.hpp"

namespace orrery::runtime {
namespace {

using namespace std::chrono_literals;

constexpr auto kRestLeast = 1s;
constexpr int kRestParts = 19;  // So many times as long as a forecast took.
// An answer does once more for so long; where no record has come since, for longer.
constexpr auto kSameWithin = 1s;
constexpr auto kUnchangedWithin = 10s;
constexpr std::size_t kAnswersKept = 32;

Duration age_of(std::chrono::steady_clock::time_point at) {
  return Duration::nanoseconds(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - at).count());
}

}  // namespace

ForecastDesk::ForecastDesk(ControlApi& control, ForecastDeskOptions options)
    : control_(control),
      options_(std::move(options)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      look_at_(Clock::now() + kRestLeast),
      book_(options_.book) {
  invariant(stop_ >= 0, "an eventfd is to be had");
  changes_ = control_.follow_changes([this](JobId) { changed(); });
  thread_ = std::thread([this] { live(); });
}

ForecastDesk::~ForecastDesk() {
  changes_.reset();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  wake_.notify_one();
  thread_.join();
  ::close(stop_);
}

// --- any thread ---

bool ForecastDesk::ask(ForecastQuestion question, std::function<void(const ForecastReply&)> done) {
  question.records_max = options_.records_max;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= kForecastsWaitingMax || stopping_) {
    ++figures_.refused;
    return false;
  }
  waiting_.push_back({std::move(question), std::move(done)});
  wake_.notify_one();
  return true;
}

std::shared_ptr<const KnownForecast> ForecastDesk::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::shared_ptr<const ForecastAccuracy> ForecastDesk::accuracy() const {
  const std::lock_guard lock(mutex_);
  return accuracy_;
}

ForecastFigures ForecastDesk::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

// On the core thread, with every record: no more than a comparison, most times.
void ForecastDesk::changed() {
  const std::lock_guard lock(mutex_);
  if (look_at_ <= rests_until_) return;
  look_at_ = std::max(Clock::now() + kRestLeast, rests_until_);
  rests_until_ = look_at_;
  wake_.notify_one();
}

// --- the desk's thread ---

void ForecastDesk::live() {
  if (const Status opened = book_.open(); !opened && options_.say)
    options_.say(opened.errors().front().text());
  std::unique_lock lock(mutex_);
  accuracy_ = std::make_shared<ForecastAccuracy>(book_.accuracy());
  while (!stopping_) {
    if (!waiting_.empty()) {
      const Asked asked = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      carry_out(asked);
      lock.lock();
    } else if (options_.refresh > Duration::zero() && Clock::now() >= look_at_) {
      lock.unlock();
      const auto begin = Clock::now();
      refresh();
      const auto end = Clock::now();
      lock.lock();
      rests_until_ = end + std::max<Clock::duration>(kRestLeast, kRestParts * (end - begin));
      look_at_ = std::max(rests_until_ + 1ns, end + std::chrono::nanoseconds(options_.refresh.ns));
    } else if (options_.refresh > Duration::zero()) {
      wake_.wait_until(lock, look_at_);
    } else {
      wake_.wait(lock);
    }
  }
  const std::deque<Asked> left = std::exchange(waiting_, {});
  lock.unlock();  // What is destroyed may belong to others.
}

// The core thread looks whether its state is needed, and copies it then.
ForecastDesk::Look ForecastDesk::look(const std::function<bool(const Look&)>& wants_state) {
  const auto found = std::make_shared<std::promise<Look>>();
  std::future<Look> future = found->get_future();
  control_.read([this, found, wants_state](const ControlView& view) {
    Look out;
    out.leads = view.facts.admission == Admission::Open;
    out.why = view.facts.why;
    out.sequence = view.state.sequence;
    out.next_job = view.state.next_job();
    out.some_wait = !view.state.waiting.empty();
    if (out.leads) {
      out.came = book_.look(view.state);
      if (wants_state(out)) {
        const auto begin = Clock::now();
        out.state = std::make_unique<State>(view.state);
        // Since the last record only time has passed.
        out.state->now = std::max(out.state->now, view.now);
        const std::lock_guard lock(mutex_);
        figures_.copy_seconds.add(std::chrono::duration<double>(Clock::now() - begin).count());
      }
    }
    found->set_value(std::move(out));
  });
  try {
    return future.get();
  } catch (const std::future_error&) {
    // The controller ended first.
    Look out;
    out.why = "the controller ends";
    return out;
  }
}

void ForecastDesk::take_outcomes(const Look& look) {
  for (const ForecastOutcome& outcome : look.came) book_.note(outcome);
  const auto accuracy = std::make_shared<ForecastAccuracy>(book_.accuracy());
  const std::lock_guard lock(mutex_);
  for (const ForecastOutcome& outcome : look.came) figures_.errors.add(outcome.error());
  accuracy_ = accuracy;
}

const ForecastDesk::Known* ForecastDesk::known(const std::vector<std::byte>& question) const {
  const auto found =
      std::ranges::find_if(answers_, [&](const Known& each) { return each.question == question; });
  return found == answers_.end() ? nullptr : &*found;
}

void ForecastDesk::carry_out(const Asked& asked) {
  ByteWriter bytes;
  put_question(bytes, asked.question);
  const std::vector<std::byte> question(bytes.bytes().begin(), bytes.bytes().end());
  const Known* before = known(question);
  const auto age = before == nullptr ? Clock::duration::max() : Clock::now() - before->at;
  const auto wants_state = [&](const Look& look) {
    if (before == nullptr || age > kUnchangedWithin) return true;
    return age > kSameWithin && look.sequence != before->reply.answer->sequence;
  };
  const Look found = look(wants_state);
  take_outcomes(found);
  if (!found.leads) {
    ForecastReply reply;
    reply.loss = ForecastLoss::Unavailable;
    reply.why = found.why.empty() ? "no controller leads here now; ask again" : found.why;
    return asked.done(reply);
  }
  if (found.state == nullptr) {
    ForecastReply reply = before->reply;
    reply.age = age_of(before->at);
    {
      const std::lock_guard lock(mutex_);
      ++figures_.reused;
    }
    return asked.done(reply);
  }
  const auto at = Clock::now();
  ForecastReply reply = run(found, asked.question);
  if (reply.answer != nullptr) {
    std::erase_if(answers_, [&](const Known& each) { return each.question == question; });
    answers_.push_back({question, reply, at});
    if (answers_.size() > kAnswersKept) answers_.pop_front();
  }
  reply.age = age_of(at);
  asked.done(reply);
}

ForecastReply ForecastDesk::run(const Look& look, const ForecastQuestion& question) {
  const auto begin = Clock::now();
  ForecastReply reply = run_forecast_helper(options_.helper, *look.state, question, stop_);
  const std::lock_guard lock(mutex_);
  ++figures_.replies[static_cast<std::size_t>(reply.loss)];
  figures_.seconds.add(std::chrono::duration<double>(Clock::now() - begin).count());
  return reply;
}

// While jobs wait: as soon as one has come since, and else after a while.
void ForecastDesk::refresh() {
  const auto period = std::chrono::nanoseconds(options_.refresh.ns);
  const bool is_old = Clock::now() - refreshed_at_ >= period;
  const Look found = look([&](const Look& now) {
    if (!now.some_wait) return false;
    return now.next_job != next_job_ || (is_old && now.sequence != refreshed_);
  });
  take_outcomes(found);
  if (found.leads && !found.some_wait) {
    next_job_ = found.next_job;
    const std::lock_guard lock(mutex_);
    latest_ = nullptr;
  }
  if (found.state == nullptr) return;
  ForecastQuestion all;
  all.records_max = options_.records_max;
  const ForecastReply reply = run(found, all);
  refreshed_at_ = Clock::now();
  refreshed_ = found.sequence;
  next_job_ = found.next_job;
  if (reply.answer != nullptr) keep(reply, *found.state);
}

void ForecastDesk::keep(const ForecastReply& reply, const State& state) {
  auto known = std::make_shared<KnownForecast>();
  known->answer = reply.answer;
  for (const ForetoldJob& job : reply.answer->jobs) {
    if (job.runs || job.start.p50.is_never()) continue;
    known->starts[job.id] = job.start.p50;
    const JobState* there = state.find(job.id);
    if (there == nullptr || !there->started_at.is_never()) continue;
    book_.foretold({job.id,
                    job.name,
                    there->row.submitted,
                    reply.answer->now,
                    job.start.p50,
                    Instant::never()});
  }
  const auto accuracy = std::make_shared<ForecastAccuracy>(book_.accuracy());
  const std::lock_guard lock(mutex_);
  latest_ = std::move(known);
  accuracy_ = accuracy;
}

}  // namespace orrery::runtime
