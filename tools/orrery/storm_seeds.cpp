#include "tools/orrery/storm_seeds.hpp"

#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/stream_text.hpp"
#include "core/record/codec.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/orrery/child_pool.hpp"
#include "tools/orrery/output_folder.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t kSeedsAtOnce = 50;
constexpr std::size_t kTasksAtOnce = 64;  // For each process, before the next ones are made.
constexpr std::chrono::seconds kKeepEvery{1};

double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

std::string encoded(const StormFigures& figures) {
  ByteWriter bytes;
  Encoder encoder(bytes);
  encoder.put(figures);
  return std::string(bytes.text());
}

/// Nothing where these are no figures.
StormFigures decoded(std::string_view text) {
  ByteReader bytes(text);
  Decoder decoder(bytes);
  StormFigures figures;
  decoder.get(figures);
  return decoder.ok() && bytes.finished() ? figures : StormFigures{};
}

/// A seed that runs for ever ends its process by a signal.
void bound_processor_time(int seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

/// The body of a child: after each seed it tells all that it has, so that nothing is lost with it.
ExitCode run_part(SeedRange seeds, const StormWork& work, ChildReport& report) {
  StormFigures figures;
  const double start = processor_seconds();
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && work.go_on(); ++seed) {
    mark_counts.fill(0);
    bound_processor_time(work.seed_processor_s);
    const SeedOutcome outcome = work.run(seed);
    bound_processor_time(0);
    StormFigures one;
    one.seeds = 1;
    one.events = outcome.events;
    one.records = outcome.records;
    one.leaders = outcome.leaders;
    one.simulated_us = static_cast<std::uint64_t>(outcome.simulated.ns / 1000);
    one.findings = outcome.findings;
    one.marks.assign(mark_counts.begin(), mark_counts.end());
    for (const std::uint64_t count : one.marks) one.mark_seeds.push_back(count > 0 ? 1 : 0);
    figures.add(one);
    figures.processor_s = processor_seconds() - start;
    report.result(encoded(figures));
    report.progress({.jobs_done = figures.seeds, .events = figures.events});
    if (outcome.spoils_process) break;
  }
  return ExitCode::Met;
}

/// Disjoint ranges of seeds that are done, those that touch joined.
class DoneSeeds {
 public:
  void add(SeedRange range) {
    if (const auto next = ranges_.find(range.last + 1); next != ranges_.end()) {
      range.last = next->second;
      ranges_.erase(next);
    }
    const auto behind = ranges_.upper_bound(range.first);
    if (behind != ranges_.begin() && std::prev(behind)->second + 1 == range.first)
      std::prev(behind)->second = range.last;
    else
      ranges_.emplace(range.first, range.last);
  }

  std::uint64_t count() const {
    std::uint64_t count = 0;
    for (const auto& [first, last] : ranges_) count += last - first + 1;
    return count;
  }

  /// What of `all` is missing.
  std::deque<SeedRange> missing(SeedRange all) const {
    std::deque<SeedRange> out;
    std::uint64_t next = all.first;
    for (const auto& [first, last] : ranges_) {
      if (first > next) out.push_back({next, first - 1});
      next = last + 1;
    }
    if (next <= all.last) out.push_back({next, all.last});
    return out;
  }

  const std::map<std::uint64_t, std::uint64_t>& ranges() const { return ranges_; }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // By their first seed.
};

class StormSeeds {
 public:
  explicit StormSeeds(const StormWork& work) : work_(work) {}

  StormDone run() {
    take_up();
    out_.resumed = resumed_ = done_.count();
    std::deque<SeedRange> left = done_.missing(work_.seeds);
    while (!left.empty() && goes_on()) {
      round(left);
      left = done_.missing(work_.seeds);
    }
    keep();
    out_.complete = left.empty();
    std::stable_sort(out_.figures.findings.begin(),
                     out_.figures.findings.end(),
                     [](const auto& a, const auto& b) { return a.seed < b.seed; });
    return std::move(out_);
  }

 private:
  bool goes_on() const {
    return !interrupted() && work_.go_on() && out_.figures.findings.size() < kStormFindingsMax;
  }

  // Some of what is left, each part in a process.
  void round(std::deque<SeedRange> left) {
    const std::size_t processes = std::max<std::size_t>(work_.parallel, 1);
    std::uint64_t seeds = 0;
    for (const SeedRange& range : left) seeds += range.count();
    // Few seeds are spread over all processes.
    const std::uint64_t each = std::clamp<std::uint64_t>(seeds / (4 * processes), 1, kSeedsAtOnce);
    parts_.clear();
    std::vector<Task> tasks;
    while (!left.empty() && parts_.size() < processes * kTasksAtOnce) {
      SeedRange& range = left.front();
      const SeedRange part{range.first, range.first + std::min(each, range.count()) - 1};
      parts_.push_back(part);
      tasks.push_back([part, this](ChildReport& report) { return run_part(part, work_, report); });
      if (part.last == range.last)
        left.pop_front();
      else
        range.first = part.last + 1;
    }
    taken_.assign(parts_.size(), false);
    const PoolWatch watch{[this](const auto& progress, const auto&) { show(progress); },
                          [this](std::size_t task, const TaskEnd& end) { take(task, end); }};
    const std::vector<TaskEnd> ends = run_in_children(tasks, processes, watch);
    for (std::size_t task = 0; task < ends.size(); ++task)
      if (!taken_[task]) add(parts_[task], decoded(ends[task].result));
  }

  void add(SeedRange part, const StormFigures& figures) {
    if (figures.seeds == 0) return;
    out_.figures.add(figures);
    done_.add({part.first, part.first + figures.seeds - 1});
  }

  void take(std::size_t task, const TaskEnd& end) {
    taken_[task] = true;
    const SeedRange part = parts_[task];
    StormFigures figures = decoded(end.result);
    if (figures.seeds > 0) judge_suspects(part.first, figures);
    if (end.code != ExitCode::Met && figures.seeds < part.count()) {
      const std::uint64_t seed = part.first + figures.seeds;
      const std::string how = end.note.empty() ? "it ended by itself with code " +
                                                     std::to_string(static_cast<int>(end.code))
                                               : end.note;
      if (figures.seeds > 0)
        suspects_[seed] = {part.first, how};
      else
        figures = ended_its_process(seed, how);
    }
    add(part, figures);
    if (SteadyClock::now() >= keep_at_) keep();
  }

  // It was the first of its process, so nothing before it can have been to blame.
  static StormFigures ended_its_process(std::uint64_t seed, const std::string& how) {
    StormFigures figures;
    figures.seeds = 1;
    figures.findings.push_back({seed,
                                std::string(kProcessEnded),
                                Instant::zero(),
                                "the process of this seed alone did not come to its end: " + how});
    return figures;
  }

  // One that ended its process behind others is run as the first of another: it came through there.
  void judge_suspects(std::uint64_t seed, StormFigures& figures) {
    const auto suspect = suspects_.find(seed);
    if (suspect == suspects_.end()) return;
    const auto [first, how] = suspect->second;
    suspects_.erase(suspect);
    const bool found = !figures.findings.empty() && figures.findings.front().seed == seed;
    if (found || how.ends_with(kKilled)) return;
    figures.findings.insert(
        figures.findings.begin(),
        {seed,
         std::string(kProcessEnded),
         Instant::zero(),
         "the process of seeds " + std::to_string(first) + " to " + std::to_string(seed) +
             " did not come to its end: " + how + "; this seed alone does"});
  }

  void show(const std::vector<TaskProgress>& progress) {
    Progress sum;
    sum.runs_total = work_.seeds.count();
    sum.runs_before = resumed_;
    sum.runs_done = done_.count();
    sum.events = out_.figures.events - events_before_;
    for (std::size_t task = 0; task < progress.size(); ++task) {
      if (taken_[task]) continue;
      sum.runs_done += progress[task].jobs_done;
      sum.events += progress[task].events;
    }
    work_.show(sum);
  }

  // --- the file ---

  void take_up() {
    if (work_.progress_file.empty()) return;
    std::ifstream in(work_.progress_file, std::ios::binary);
    const std::string text = rest_of(in).value_or("");
    ByteReader bytes{std::string_view(text)};
    if (bytes.string() != work_.program.to_hex()) return;
    DoneSeeds done;
    for (std::uint64_t ranges = bytes.varint(); bytes.ok() && ranges > 0; --ranges) {
      SeedRange range;
      range.first = bytes.varint();
      range.last = bytes.varint();
      if (range.first < work_.seeds.first || range.last > work_.seeds.last ||
          range.last < range.first)
        return;
      done.add(range);
    }
    const std::string figures(bytes.string());
    if (!bytes.finished() || decoded(figures).seeds != done.count()) return;
    out_.figures = decoded(figures);
    events_before_ = out_.figures.events;
    done_ = std::move(done);
  }

  // A process that is killed meanwhile leaves the whole file or the one before.
  void keep() {
    if (work_.progress_file.empty()) return;
    ByteWriter bytes;
    bytes.string(work_.program.to_hex());
    bytes.varint(done_.ranges().size());
    for (const auto& [first, last] : done_.ranges()) {
      bytes.varint(first);
      bytes.varint(last);
    }
    bytes.string(encoded(out_.figures));
    (void)write_file(work_.progress_file, bytes.text());  // Without it, it begins at its begin.
    keep_at_ = SteadyClock::now() + kKeepEvery;
  }

  static constexpr std::string_view kKilled = "Killed";

  struct Suspect {
    std::uint64_t first = 0;  ///< Of the seeds of its process.
    std::string how;          ///< The process ended.
  };

  const StormWork& work_;
  StormDone out_;
  DoneSeeds done_;
  std::uint64_t resumed_ = 0;
  std::uint64_t events_before_ = 0;
  std::vector<SeedRange> parts_;  ///< Of this round.
  std::vector<bool> taken_;       ///< Of them, those that have ended by themselves.
  std::map<std::uint64_t, Suspect> suspects_;
  SteadyClock::time_point keep_at_;
};

void add_each(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& more) {
  to.resize(std::max(to.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) to[i] += more[i];
}

}  // namespace

void StormFigures::add(const StormFigures& other) {
  seeds += other.seeds;
  events += other.events;
  records += other.records;
  leaders += other.leaders;
  simulated_us += other.simulated_us;
  processor_s += other.processor_s;
  add_each(marks, other.marks);
  add_each(mark_seeds, other.mark_seeds);
  findings.insert(findings.end(), other.findings.begin(), other.findings.end());
}

StormDone run_storm_seeds(const StormWork& work) { return StormSeeds(work).run(); }

}  // namespace orrery::cli
