// A bare event loop over a scenario's jobs: what its simulation costs where there is no controller.
//
//   bench_bare_loop SCENARIO [PROGRAM]   scenarios/scale/million_easy.yaml, for example; with
//                                        PROGRAM (build/bin/orrery) that runs the scenario, too,
//                                        and the ratio is printed
//
// The same arrivals, sizes, run times and estimates; EASY backfilling with the scenario's depth,
// the head's reservation by counting devices; the tightest node, whole nodes beyond one; nodes fail
// at the scenario's rate and their jobs go back to the head of the queue with what their last
// checkpoint has. No journal, no agents, no quotas, no reasons, no report, and devices are only
// counted: the distance to it is what all of those cost.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bitset_index.hpp"
#include "core/base/random.hpp"
#include "scenarios/language/loader.hpp"
#include "sim/run/workload.hpp"

namespace orrery::bench {
namespace {

using scenarios::Scenario;

constexpr std::uint32_t kNone = UINT32_MAX;

struct BareJob {
  std::int64_t run = 0;  // What is left to do, in ns as all times.
  std::int64_t started = 0;
  std::int32_t each = 0;  // Devices of a replica.
  std::int32_t replicas = 0;
  std::uint32_t life = 0;  // Ends of earlier lives are stale.
  bool holds = false;
  std::vector<std::pair<std::uint32_t, std::int32_t>> places;  // Node and replicas there.

  std::int64_t devices() const { return std::int64_t{each} * replicas; }
};

/// What a look along the queue reads.
struct Waiting {
  std::int64_t estimate = 0;  // Stated.
  std::int32_t devices = 0;
  std::uint32_t before = kNone;  // Oldest first.
  std::uint32_t after = kNone;
};

enum class Kind : std::uint8_t { End, Fails, Repaired };

struct Happening {
  std::int64_t at = 0;
  Kind kind = Kind::End;
  std::uint32_t subject = 0;
  std::uint32_t life = 0;

  friend bool operator>(const Happening& a, const Happening& b) {
    return std::tie(a.at, a.kind, a.subject) > std::tie(b.at, b.kind, b.subject);
  }
};

class BareLoop {
 public:
  explicit BareLoop(const Scenario& scenario) : scenario_(scenario) {
    for (const NodeGroup& group : scenario.groups)
      for (std::int32_t i = 0; i < group.count; ++i) size_.push_back(group.devices);
    most_ = *std::max_element(size_.begin(), size_.end());
    free_ = size_;
    up_.assign(size_.size(), 1);
    levels_.assign(static_cast<std::size_t>(most_) + 1, BitsetIndex(size_.size()));
    for (std::size_t n = 0; n < size_.size(); ++n) {
      levels_[static_cast<std::size_t>(size_[n])].insert(n);
      free_devices_ += size_[n];
    }
    for (const scenarios::Parameter& parameter : scenario.policy.parameters)
      if (parameter.key == "backfill_depth")
        std::from_chars(
            parameter.value.data(), parameter.value.data() + parameter.value.size(), depth_);
  }

  void run(sim::JobSource& source) {
    fail_next(0);
    std::optional<sim::ModelJob> next = source.next();
    while (next || unfinished_ > 0) {
      const std::int64_t arrival = next ? next->submit.ns : INT64_MAX;
      if (arrival <= (coming_.empty() ? INT64_MAX : coming_.top().at)) {
        now_ = arrival;
        submit(*next);
        next = source.next();
        // Behind all that are tried: nothing has changed for those.
        came_last_ = waiting_ > static_cast<std::size_t>(depth_);
      } else {
        const Happening happening = coming_.top();
        coming_.pop();
        now_ = happening.at;
        happen(happening);
      }
      ++events_;
      if (!std::exchange(came_last_, false)) schedule();
    }
  }

  void print() const {
    std::printf(
        "bare loop: %zu jobs, %zu events, longest queue %zu, %zu recoveries, ended after "
        "%.0f s\n",
        jobs_.size(),
        events_,
        longest_queue_,
        recoveries_,
        static_cast<double>(last_end_) / 1e9);
  }

 private:
  // --- the queue ---

  void append(std::uint32_t id) {
    queue_[id].before = last_;
    (last_ == kNone ? first_ : queue_[last_].after) = id;
    last_ = id;
    longest_queue_ = std::max(longest_queue_, ++waiting_);
  }

  void prepend(std::uint32_t id) {
    queue_[id].after = first_;
    (first_ == kNone ? last_ : queue_[first_].before) = id;
    first_ = id;
    ++waiting_;
  }

  void take_out(std::uint32_t id) {
    Waiting& place = queue_[id];
    (place.before == kNone ? first_ : queue_[place.before].after) = place.after;
    (place.after == kNone ? last_ : queue_[place.after].before) = place.before;
    place.before = place.after = kNone;
    --waiting_;
  }

  // --- nodes ---

  void set_free(std::size_t node, std::int32_t devices) {
    if (up_[node] != 0) {
      levels_[static_cast<std::size_t>(free_[node])].erase(node);
      levels_[static_cast<std::size_t>(devices)].insert(node);
      free_devices_ += devices - free_[node];
    }
    free_[node] = devices;
  }

  bool place(BareJob& job) {
    if (job.devices() > free_devices_) return false;
    // The tightest node for all, else whole replicas on the emptiest.
    if (job.devices() <= most_) {
      for (std::int64_t level = job.devices(); level <= most_; ++level) {
        const std::size_t node = levels_[static_cast<std::size_t>(level)].first();
        if (node == BitsetIndex::kNone) continue;
        set_free(node, free_[node] - static_cast<std::int32_t>(job.devices()));
        job.places.emplace_back(static_cast<std::uint32_t>(node), job.replicas);
        return true;
      }
    }
    std::int32_t left = job.replicas;
    for (std::int32_t level = most_; level >= job.each && left > 0; --level)
      while (left > 0) {
        const std::size_t node = levels_[static_cast<std::size_t>(level)].first();
        if (node == BitsetIndex::kNone) break;
        const std::int32_t here = std::min(left, level / job.each);
        set_free(node, level - here * job.each);
        job.places.emplace_back(static_cast<std::uint32_t>(node), here);
        left -= here;
      }
    if (left == 0) return true;
    give_back(job);
    return false;
  }

  void give_back(BareJob& job) {
    for (const auto& [node, replicas] : job.places)
      set_free(node, free_[node] + replicas * job.each);
    job.places.clear();
  }

  // --- jobs ---

  void submit(const sim::ModelJob& from) {
    BareJob job;
    const RoleSpec& role = from.spec->roles[0];
    job.each = role.bundle.devices;
    job.replicas = role.min_replicas;
    job.run = scenarios::run_time(from.work, job.replicas).ns;
    const std::int64_t stated = from.spec->estimate.ns;
    queue_.push_back({stated > 0 ? stated : job.run, static_cast<std::int32_t>(job.devices())});
    jobs_.push_back(std::move(job));
    ++unfinished_;
    append(static_cast<std::uint32_t>(jobs_.size() - 1));
  }

  bool start(std::uint32_t id) {
    BareJob& job = jobs_[id];
    if (!place(job)) return false;
    take_out(id);
    job.holds = true;
    job.started = now_ + scenario_.timing.start.ns;
    if (job.life > 0) job.started += scenario_.timing.restore.ns;
    ends_.emplace(now_ + queue_[id].estimate, id);
    coming_.push({job.started + job.run, Kind::End, id, job.life});
    return true;
  }

  void stop(std::uint32_t id) {
    BareJob& job = jobs_[id];
    ends_.erase({job.started - overhead(job) + queue_[id].estimate, id});
    job.holds = false;
    give_back(job);
  }

  std::int64_t overhead(const BareJob& job) const {
    return scenario_.timing.start.ns + (job.life > 0 ? scenario_.timing.restore.ns : 0);
  }

  // --- what happens ---

  void happen(const Happening& happening) {
    switch (happening.kind) {
      case Kind::End: {
        BareJob& job = jobs_[happening.subject];
        if (!job.holds || job.life != happening.life) return;
        stop(happening.subject);
        --unfinished_;
        last_end_ = now_;
        return;
      }
      case Kind::Fails:
        return fail(happening.subject);
      case Kind::Repaired: {
        const std::size_t node = happening.subject;
        up_[node] = 1;
        levels_[static_cast<std::size_t>(free_[node])].insert(node);
        free_devices_ += free_[node];
        return;
      }
    }
  }

  // The next failure of any node. Drawn for the whole cluster: each fails equally often.
  void fail_next(std::int64_t after) {
    if (scenario_.fault_processes.empty()) return;
    const double per_second = scenario_.fault_processes[0].rate_per_1000_node_days / 1000 / 86'400 *
                              static_cast<double>(size_.size());
    const auto wait = static_cast<std::int64_t>(random_.exponential(1 / per_second) * 1e9);
    coming_.push(
        {after + wait, Kind::Fails, static_cast<std::uint32_t>(random_.below(size_.size()))});
  }

  void fail(std::uint32_t node) {
    fail_next(now_);
    if (up_[node] == 0) return;
    std::vector<std::uint32_t> lost;
    for (const auto& [at, id] : ends_)
      for (const auto& place : jobs_[id].places)
        if (place.first == node) lost.push_back(id);
    for (const std::uint32_t id : lost) {
      BareJob& job = jobs_[id];
      stop(id);
      const std::int64_t every = scenario_.timing.checkpoint_interval.ns;
      const std::int64_t done = std::max<std::int64_t>(0, now_ - job.started);
      if (every > 0) job.run -= done / every * every;
      ++job.life;
      ++recoveries_;
      prepend(id);
    }
    levels_[static_cast<std::size_t>(free_[node])].erase(node);
    free_devices_ -= free_[node];
    up_[node] = 0;
    const scenarios::FaultProcess& law = scenario_.fault_processes[0];
    const double repair = law.repair_median.in_seconds() * random_.lognormal(0, law.repair_sigma);
    coming_.push({now_ + static_cast<std::int64_t>(repair * 1e9), Kind::Repaired, node});
  }

  // EASY: the head as soon as it fits; until then jobs that do not delay it, by estimates.
  void schedule() {
    while (first_ != kNone && start(first_)) {
    }
    if (first_ == kNone || free_devices_ == 0) return;
    std::int64_t come_free = free_devices_;
    std::int64_t shadow = INT64_MAX;
    for (const auto& [at, id] : ends_) {
      come_free += jobs_[id].devices();
      if (come_free < jobs_[first_].devices()) continue;
      shadow = std::max(at, now_);
      break;
    }
    std::int64_t spare = come_free - jobs_[first_].devices();
    std::uint32_t id = queue_[first_].after;
    for (std::int32_t tried = 0; tried < depth_ && id != kNone && free_devices_ > 0; ++tried) {
      const Waiting& waiting = queue_[id];
      const std::uint32_t next = waiting.after;
      const bool is_short = now_ + waiting.estimate <= shadow;
      if (waiting.devices <= free_devices_ && (is_short || waiting.devices <= spare)) {
        const std::int64_t devices = waiting.devices;
        if (start(id) && !is_short) spare -= devices;
      }
      id = next;
    }
  }

  const Scenario& scenario_;
  Random random_{1};
  std::int64_t now_ = 0;
  std::int32_t depth_ = 1000;
  std::int32_t most_ = 0;
  std::int64_t free_devices_ = 0;
  std::vector<std::int32_t> size_;
  std::vector<std::int32_t> free_;
  std::vector<std::uint8_t> up_;
  std::vector<BitsetIndex> levels_;  // Nodes by their free devices.
  std::vector<BareJob> jobs_;
  std::vector<Waiting> queue_;  // By job.
  bool came_last_ = false;
  std::uint32_t first_ = kNone;
  std::uint32_t last_ = kNone;
  std::size_t waiting_ = 0;
  std::size_t longest_queue_ = 0;
  std::size_t unfinished_ = 0;
  std::size_t events_ = 0;
  std::size_t recoveries_ = 0;
  std::int64_t last_end_ = 0;
  std::set<std::pair<std::int64_t, std::uint32_t>> ends_;  // Estimated, of those that hold devices.
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> coming_;
};

struct Cost {
  double seconds = 0;  // Of processor time.
  double resident_mb = 0;
};

// In a child process, so that each has a memory of its own. Exits where the child did not end well.
Cost cost_of(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  rusage use{};
  wait4(child, &status, 0, &use);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "bench_bare_loop: a run did not end well\n");
    std::exit(1);
  }
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return {seconds(use.ru_utime) + seconds(use.ru_stime),
          static_cast<double>(use.ru_maxrss) * 1024 / 1e6};
}

void run_bare(const std::string& path) {
  const auto scenario = scenarios::load_scenario(path);
  if (!scenario) {
    std::fprintf(stderr, "%s\n", scenario.errors()[0].text().c_str());
    _exit(2);
  }
  const auto workload = sim::LoadedWorkload::load(*scenario);
  if (!workload) {
    std::fprintf(stderr, "%s\n", workload.errors()[0].text().c_str());
    _exit(2);
  }
  BareLoop loop(*scenario);
  loop.run(*workload->play(*scenario));
  loop.print();
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  using orrery::bench::Cost;
  using orrery::bench::cost_of;
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: bench_bare_loop SCENARIO [PROGRAM]\n");
    return 2;
  }
  const Cost bare = cost_of([&] { orrery::bench::run_bare(argv[1]); });
  std::printf("bare loop: %.2f s of processor time, %.0f MB\n", bare.seconds, bare.resident_mb);
  if (argc < 3) return 0;
  const Cost whole = cost_of([&] {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    execl(argv[2], argv[2], "sim", argv[1], "--json", static_cast<char*>(nullptr));
    _exit(127);
  });
  std::printf("%s sim: %.2f s of processor time, %.0f MB: %.2f times the bare loop\n",
              argv[2],
              whole.seconds,
              whole.resident_mb,
              whole.seconds / bare.seconds);
  return 0;
}
