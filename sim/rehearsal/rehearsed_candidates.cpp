#include "sim/rehearsal/rehearsed_candidates.hpp"

#include <algorithm>
#include <utility>

#include "core/base/random.hpp"
#include "sim/rehearsal/forecast.hpp"
#include "sim/rehearsal/forked_run.hpp"
#include "sim/rehearsal/forked_work.hpp"
#include "sim/rehearsal/forked_world.hpp"
#include "sim/rehearsal/remaining_time.hpp"

namespace orrery::sim {
namespace {

/// What a job that nothing is known of has run for, at least.
constexpr Duration kRanAtLeast = Duration::seconds(600);
/// From so many jobs on, what came of them is drawn from.
constexpr std::size_t kEnoughEnded = 10;
/// A tail is cut there: no job runs for a thousand times as long as it has.
constexpr double kLeastChance = 1e-3;
/// The cycle and its plan.
constexpr std::uint64_t kRecordsOfCycle = 2;
/// Work that is never done at once.
constexpr Duration kLeastLeft = Duration::milliseconds(1);

Duration times(Duration duration, double factor) {
  return Duration::from_seconds(duration.in_seconds() * factor);
}

}  // namespace

/// Guesses of how long jobs run, from those that are over.
class ForkedRehearsal::RunTimes {
 public:
  explicit RunTimes(const RehearsalOptions& options) : draw_(options.draw), ended_(options.ended) {
    for (const EndedJob& job : options.ended) {
      ran_.push_back(job.ran);
      if (job.stated > Duration::zero())
        off_.push_back(job.ran.in_seconds() / job.stated.in_seconds());
    }
    std::ranges::sort(ran_);
    std::ranges::sort(off_);
  }

  /// Whether they would be guessed from the same.
  bool are_of(const RehearsalOptions& options) const {
    return draw_ == options.draw && ended_ == options.ended;
  }

  /// What is left of the job's work.
  scenarios::WorkSpec work_left(const JobState& job, Instant now) const {
    const JobRow& row = job.row;
    if (const auto told = reported_remaining(row, now))
      return forked_work(
          told->left, row.holds ? row.replicas : row.min_replicas, row.progress.rate);
    const std::int64_t gang = std::max(1, row.gang_devices());
    const Duration ran{row.attained_device_us(now) / gang * 1000};
    return forked_work(std::max(kLeastLeft, whole(row, ran) - ran), row.min_replicas, 1);
  }

 private:
  /// In all, at its minimum of replicas, of a job that has run for `ran` so far.
  Duration whole(const JobRow& row, Duration ran) const {
    Random random = Random::stream(draw_, std::to_string(row.id.value));
    const double u = random.uniform_positive();
    if (row.estimate_source == EstimateSource::Oracle) return row.estimate;
    if (row.estimate_source != EstimateSource::None && !row.estimate.is_forever()) {
      if (off_.size() < kEnoughEnded) return std::max(row.estimate, ran);
      const double so_far = ran.in_seconds() / std::max(1e-9, row.estimate.in_seconds());
      const auto left = std::ranges::upper_bound(off_, so_far);
      if (left == off_.end()) return longer(ran, u);
      return times(row.estimate, of<double>(left, off_.end(), u));
    }
    if (ran_.size() < kEnoughEnded) return longer(ran, u);
    const auto left = std::ranges::upper_bound(ran_, ran);
    return left == ran_.end() ? longer(ran, u) : of<Duration>(left, ran_.end(), u);
  }

  // One of them, for `u` in (0, 1].
  template <class T>
  static T of(typename std::vector<T>::const_iterator first,
              typename std::vector<T>::const_iterator last,
              double u) {
    const auto count = static_cast<double>(last - first);
    return *(first + static_cast<std::ptrdiff_t>((1 - u) * count));
  }

  // As run times of which nothing is known: half of the jobs run twice as long as they have.
  static Duration longer(Duration ran, double u) {
    return times(std::max(ran, kRanAtLeast), 1 / std::max(u, kLeastChance));
  }

  std::uint64_t draw_;
  std::vector<EndedJob> ended_;
  std::vector<Duration> ran_;
  std::vector<double> off_;
};

namespace {

class JobWatch final : public RunObserver {
 public:
  JobWatch(RehearsedRun& run, std::uint64_t events_max) : run_(run), events_max_(events_max) {}

  void on_event(Sequence, const Event& event) override {
    ++run_.events;
    last_ = event.at;
  }

  void on_notices(std::span<const Notice> notices, const State&) override {
    for (const Notice& notice : notices) {
      if (notice.kind != NoticeKind::PhaseChanged) continue;
      if (notice.to != JobPhase::Starting && !is_final(notice.to)) continue;
      const auto job = std::ranges::lower_bound(run_.jobs, notice.job, {}, &RehearsedJob::id);
      if (job == run_.jobs.end() || job->id != notice.job) continue;
      if (notice.to == JobPhase::Starting && job->started.is_never()) job->started = notice.at;
      if (!is_final(notice.to) || !job->ended.is_never()) continue;
      job->ended = notice.at;
      ++over_;
    }
  }

  // Counted like all others: what a candidate is rehearsed for does not depend on how.
  std::uint64_t pass_over(std::uint64_t cycles) override {
    const std::uint64_t left = events_max_ - std::min(events_max_, run_.events + 1);
    const std::uint64_t passed = std::min(cycles, left / kRecordsOfCycle);
    run_.events += passed * kRecordsOfCycle;
    return passed;
  }

  bool should_stop() override { return run_.events >= events_max_ || over_ == run_.jobs.size(); }

  bool is_over() const { return over_ == run_.jobs.size(); }

  Instant last() const { return last_; }

 private:
  RehearsedRun& run_;
  std::uint64_t events_max_;
  std::size_t over_ = 0;
  Instant last_;
};

/// That are not over, or have workers that linger, by id.
std::vector<const JobState*> jobs_that_go_on(const State& state) {
  std::vector<const JobState*> jobs;
  state.for_each_job_anyhow([&](const JobState& job) {
    const bool lingers = std::ranges::any_of(job.workers, &Worker::is_alive);
    if (!is_final(job.row.phase) || lingers) jobs.push_back(&job);
  });
  std::ranges::sort(jobs, {}, [](const JobState* job) { return job->row.id; });
  return jobs;
}

/// The state as if the candidate alone were asked.
State asked_by(State state, const Policy& candidate) {
  const Triggers triggers = candidate.triggers();
  state.settings.plan_on_submission = triggers.submission;
  state.settings.plan_on_completion = triggers.completion;
  state.settings.plan_on_capacity = triggers.capacity;
  state.settings.plan_period = triggers.period;
  return state;
}

}  // namespace

ForkedRehearsal::ForkedRehearsal() = default;

ForkedRehearsal::~ForkedRehearsal() = default;

std::optional<RehearsedRun> ForkedRehearsal::run(const ClusterView& view,
                                                 Policy& candidate,
                                                 const RehearsalOptions& options) {
  if (view.state() == nullptr) return std::nullopt;
  Controller controller(asked_by(*view.state(), candidate));
  const State& state = controller.state();
  RehearsedRun out;
  if (times_ == nullptr || !times_->are_of(options)) times_ = std::make_unique<RunTimes>(options);
  std::vector<ForkedJob> live;
  for (const JobState* const job : jobs_that_go_on(state)) {
    ForkedJob& forked = live.emplace_back();
    forked.id = job->row.id;
    forked.job.spec = job->spec;
    forked.job.work = times_->work_left(*job, state.now);
    forked.done = job->row.progress.done;
    // What can never fit waits under all of them.
    if (!is_final(job->row.phase) && !job->row.infeasible)
      out.jobs.push_back({job->row.id, job->row.submitted, job->started_at, Instant::never()});
  }
  scenarios::Scenario scenario = forked_scenario(state);
  scenario.timing.restore = options.restart;
  ForkedJobs source(state.now, std::move(live), {});
  JobWatch watch(out, options.events_max);
  ForkedRun run(controller, scenario, source, candidate, watch);
  const RunEnd end = run.driver().run(options.until);
  const bool came_to_end = watch.is_over() || end == RunEnd::Finished;
  if (!came_to_end) {
    out.until = std::max(state.now, watch.last());
  } else if (!watch.is_over() && run.now() >= options.until) {
    out.until = options.until;
  } else {
    out.until = Instant::never();
  }
  return out;
}

}  // namespace orrery::sim
