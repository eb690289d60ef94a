#include "runtime/planner/process_planner.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::runtime {
namespace {

using namespace std::chrono_literals;

// A process that is not asked anything has so much to catch up with at most.
constexpr std::size_t kFeedAt = 256 << 10;

// One that cannot keep up begins again with the state: a million records, which take a second.
constexpr std::size_t kBehindMax = 64 << 20;

// A process may take so long to begin, where its deadline is shorter.
constexpr auto kStartLeast = 10s;

constexpr std::size_t kSentenceMax = 400;

std::string text_of(Duration duration) {
  const std::int64_t ms = duration.ns / 1'000'000;
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

/// One line that can be shown, whatever the policy said.
std::string sentence_of(std::string_view said) {
  std::string out(said.substr(0, kSentenceMax));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return out;
}

}  // namespace

ProcessPlanner::ProcessPlanner(ProcessPlannerOptions options, std::function<void()> wake)
    : options_(std::move(options)),
      wake_(std::move(wake)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      process_(stop_),
      thread_([this] { live(); }) {
  invariant(stop_ >= 0, "an eventfd is to be had");
}

ProcessPlanner::~ProcessPlanner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  changed_.notify_one();
  thread_.join();
  ::close(stop_);
}

// --- the core thread ---

void ProcessPlanner::ask(const PlanRequest& request, Controller& controller) {
  (void)controller.take_touched();  // The process has its own.
  const std::lock_guard lock(mutex_);
  if (!follows_) {
    work_.from = std::make_unique<State>(controller.state());
    work_.records.clear();
    follows_ = true;
  }
  work_.request = request;
  work_.jobs = controller.state().job_count();
  busy_ = true;
  changed_.notify_one();
}

bool ProcessPlanner::is_busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

std::optional<PlanAnswer> ProcessPlanner::take(Instant) {
  const std::lock_guard lock(mutex_);
  if (answer_) busy_ = false;
  return std::exchange(answer_, std::nullopt);
}

void ProcessPlanner::stepped(std::span<const std::byte> record) {
  const std::lock_guard lock(mutex_);
  if (!follows_) return;
  const bool had_work = has_work();
  // What follows a question that the thread has not taken yet must not come before it.
  ByteWriter& records = work_.request ? later_ : work_.records;
  append_record(records, record);
  if (records.size() > kBehindMax) {
    follows_ = false;
    records = {};
  } else if (!had_work && has_work()) {
    changed_.notify_one();
  }
}

bool ProcessPlanner::has_work() const {
  return work_.request.has_value() || work_.records.size() >= kFeedAt;
}

// --- the planner's thread ---

void ProcessPlanner::live() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || has_work(); });
    if (stopping_) break;
    Work work = std::exchange(work_, {});
    work_.records = std::exchange(later_, {});
    lock.unlock();
    PlanProposed proposed;
    const Outcome failure = carry_out(work, proposed);
    if (failure) process_.kill();
    lock.lock();
    if (stopping_) break;
    if (failure) follows_ = false;
    if (!work.request) continue;
    if (failure) {
      const PlanRequest& asked = *work.request;
      answer_ = PlanLost{
          asked.view, asked.trigger, asked.job, failure->loss, failure->detail, saved_.lost()};
    } else {
      answer_ = std::move(proposed);
    }
    lock.unlock();
    wake_();
    lock.lock();
  }
  lock.unlock();
  process_.kill();
}

PolicyProcess::Clock::time_point ProcessPlanner::due() const {
  return PolicyProcess::Clock::now() + std::chrono::nanoseconds(options_.deadline.ns);
}

ProcessPlanner::Outcome ProcessPlanner::carry_out(Work& work, PlanProposed& proposed) {
  if (work.from)
    if (Outcome failure = start(*work.from)) return failure;
  work.from.reset();
  // It ended while it was fed, and nobody has asked for another yet.
  if (!process_.runs()) return Failure{PlanLoss::Ended, "between two questions"};
  const auto deadline = due();
  out_.clear();
  if (work.records.size() > 0) write_records(out_, work.records.bytes());
  if (work.request) write_ask(out_, *work.request);
  if (const Exchange sent = process_.write(out_.bytes(), deadline); sent != Exchange::Done)
    return failed(sent);
  if (!work.request) return std::nullopt;
  if (Outcome failure = hear(FrameKind::Answer, deadline)) return failure;
  Answer answer;
  ByteReader in(heard_);
  if (!read_answer(in, answer) || answer.view != work.request->view) return unreadable();
  if (std::string why = too_large(answer.plan, work.jobs); !why.empty())
    return Failure{PlanLoss::TooLarge, std::move(why)};
  saved_.answered(std::move(answer.saved));
  proposed = {work.request->view, work.request->trigger, work.request->job, std::move(answer.plan)};
  return std::nullopt;
}

ProcessPlanner::Outcome ProcessPlanner::start(const State& from) {
  if (const Status started = process_.start(options_.program); !started)
    return Failure{PlanLoss::NotStarted, started.errors()[0].text()};
  const auto deadline = std::max(due(), PolicyProcess::Clock::now() + kStartLeast);
  out_.clear();
  write_begin(out_, options_.policy, options_.memory, saved_.state(), from);
  const Exchange sent = process_.write(out_.bytes(), deadline);
  Outcome failure = sent == Exchange::Done ? hear(FrameKind::Ready, deadline) : failed(sent);
  // What became of it while it began is told as that.
  if (failure) failure->loss = PlanLoss::NotStarted;
  return failure;
}

// A frame of this kind, whose payload is in `heard_` then.
ProcessPlanner::Outcome ProcessPlanner::hear(FrameKind expected,
                                             PolicyProcess::Clock::time_point deadline) {
  std::uint8_t kind = 0;
  if (const Exchange got = process_.read(kind, heard_, options_.answer_max, deadline);
      got != Exchange::Done)
    return failed(got);
  if (kind == static_cast<std::uint8_t>(expected)) return std::nullopt;
  if (kind != static_cast<std::uint8_t>(FrameKind::Failed)) return unreadable();
  ByteReader in(heard_);
  return Failure{PlanLoss::Failed, sentence_of(in.string())};
}

ProcessPlanner::Outcome ProcessPlanner::unreadable() {
  return Failure{PlanLoss::Unreadable, std::to_string(heard_.size()) + " bytes"};
}

ProcessPlanner::Outcome ProcessPlanner::failed(Exchange how) {
  switch (how) {
    case Exchange::Late:
      return Failure{PlanLoss::Late, "no answer within " + text_of(options_.deadline)};
    case Exchange::TooLong:
      return Failure{PlanLoss::TooLarge,
                     "more than " + std::to_string(options_.answer_max >> 20) + " MiB"};
    case Exchange::Done:
    case Exchange::Ended:
    case Exchange::Stopped:
      break;
  }
  return Failure{PlanLoss::Ended,
                 how == Exchange::Stopped ? "the controller ends" : process_.end()};
}

}  // namespace orrery::runtime
