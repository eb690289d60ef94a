// What it costs to have a policy in a process of its own: 20,000 live jobs on 16,384 nodes.
//
//   bench_planner
//
// Prints what the whole state costs (written, read, copied), and what questions to a process that
// follows the journal cost the core thread and take in all. The policy plans nothing.

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/driver/driver.hpp"
#include "core/driver/memory_store.hpp"
#include "core/record/codec.hpp"
#include "runtime/planner/process_planner.hpp"
#include "runtime/planner/serve_plans.hpp"
#include "tools/bench/scripted_jobs.hpp"

namespace orrery::bench {
namespace {

constexpr std::uint32_t kJobs = 20'000;
constexpr std::uint32_t kRunning = 17'984;  // Whole rounds of the script.
constexpr int kTries = 5;
constexpr const char* kServe = "serve-plans";

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class NoPlan final : public Policy {
 public:
  std::string_view name() const override { return "none/1"; }

  Triggers triggers() const override { return {}; }

  Plan allocate(const JobView&, const ClusterView&) override { return {}; }

  Plan optimize(const ClusterView&) override { return {}; }

  void save(ByteWriter&) const override {}

  void load(ByteReader&) override {}
};

// The fastest of some tries, in milliseconds.
template <class Act>
double fastest_ms(Act act) {
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const double start = thread_seconds();
    act();
    best = std::min(best, thread_seconds() - start);
  }
  return best * 1e3;
}

void measure_state(const State& state) {
  ByteWriter bytes;
  const double save = fastest_ms([&] {
    bytes.clear();
    state.save(bytes);
  });
  const double load = fastest_ms([&] {
    State read;
    ByteReader in(bytes.bytes());
    if (!read.load(in, kRecordVersion)) std::puts("  the state cannot be read back");
  });
  const double copy = fastest_ms([&] { const State copied(state); });
  std::printf("the whole state: %.1f MB; written in %.1f ms, read in %.1f ms, copied in %.1f ms\n",
              static_cast<double>(bytes.size()) / 1e6,
              save,
              load,
              copy);
}

/// The scripted planner, whose records a ProcessPlanner follows.
class FollowedPlanner final : public Planner {
 public:
  explicit FollowedPlanner(ScriptedPlanner& inner) : inner_(inner) {}

  void ask(const PlanRequest& request, Controller& controller) override {
    inner_.ask(request, controller);
  }

  bool is_busy() const override { return inner_.is_busy(); }

  std::optional<PlanAnswer> take(Instant now) override { return inner_.take(now); }

  Instant ready_at() const override { return inner_.ready_at(); }

  void stepped(std::span<const std::byte> record) override {
    if (follower != nullptr) follower->stepped(record);
    bytes += record.size();
    ++records;
  }

  runtime::ProcessPlanner* follower = nullptr;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;

 private:
  ScriptedPlanner& inner_;
};

class Bell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    rung_ = true;
    changed_.notify_one();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

struct Asked {
  double core_ms = 0;  ///< Of the core thread.
  double all_ms = 0;   ///< Until the answer is there.
};

Asked ask(runtime::ProcessPlanner& planner, Controller& controller, Bell& bell) {
  const double busy = thread_seconds();
  const auto start = Clock::now();
  planner.ask({controller.state().sequence, PlanTrigger::Capacity, JobId::none()}, controller);
  const double core = thread_seconds() - busy;
  bell.wait();
  const double all = since(start);
  const auto answer = planner.take(controller.state().now);
  if (answer && std::holds_alternative<PlanLost>(*answer))
    std::printf("  a plan was lost: %s\n", std::get<PlanLost>(*answer).detail.c_str());
  return {core * 1e3, all * 1e3};
}

int measure() {
  MemoryStore store;
  Controller controller;
  ScriptedWorld world;
  ScriptedPlanner scripted;
  FollowedPlanner planner(scripted);
  Driver driver(controller, world, store, planner, nullptr, {});
  Script script;
  if (!driver.apply(Script::opening())) return 1;
  world.play(script.fill_cluster(kRunning));
  driver.run(Instant::never());
  scripted.start_jobs(false);
  world.play(script.fill_queue(kJobs));
  driver.run(Instant::never());
  scripted.start_jobs(true);
  std::printf("%zu live jobs on 16,384 nodes\n", controller.state().live_count());
  measure_state(controller.state());

  runtime::ProcessPlannerOptions options;
  options.program = {"/proc/self/exe", kServe};
  Bell bell;
  runtime::ProcessPlanner process(options, [&bell] { bell.ring(); });
  const Asked first = ask(process, controller, bell);
  std::printf("the first question: %.1f ms of the core thread, %.1f ms in all\n",
              first.core_ms,
              first.all_ms);
  planner.follower = &process;
  for (const std::uint32_t rounds : {1U, 10U, 100U}) {
    Asked best{1e9, 1e9};
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    for (int i = 0; i < kTries; ++i) {
      planner.records = planner.bytes = 0;
      world.play(script.rounds(rounds));
      driver.run(Instant::never());
      records = planner.records;
      bytes = planner.bytes;
      const Asked asked = ask(process, controller, bell);
      best = {std::min(best.core_ms, asked.core_ms), std::min(best.all_ms, asked.all_ms)};
    }
    std::printf("after %6llu records of %.1f bytes: %.3f ms of the core thread, %.1f ms in all\n",
                static_cast<unsigned long long>(records),
                static_cast<double>(bytes) / static_cast<double>(records),
                best.core_ms,
                best.all_ms);
  }
  return 0;
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], orrery::bench::kServe) == 0)
    return orrery::runtime::serve_plans(
        orrery::runtime::kPlannerFd,
        [](const orrery::runtime::PolicySpec&) -> orrery::Result<std::unique_ptr<orrery::Policy>> {
          return std::unique_ptr<orrery::Policy>(std::make_unique<orrery::bench::NoPlan>());
        });
  return orrery::bench::measure();
}
