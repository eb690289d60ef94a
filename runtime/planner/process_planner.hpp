// A planner whose policy runs in a process of its own: whatever it does costs one plan.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/driver/planner.hpp"
#include "runtime/planner/planner_frames.hpp"
#include "runtime/planner/policy_process.hpp"

namespace orrery::runtime {

struct ProcessPlannerOptions {
  std::vector<std::string> program;  ///< Words of a program that calls `serve_plans`.
  PolicySpec policy;
  Duration deadline = Duration::seconds(30);       ///< For one answer, above 0.
  Bytes memory;                                    ///< Most that the process may map; 0: no limit.
  std::size_t answer_max = std::size_t{64} << 20;  ///< Bytes.
};

/// Starts the process with the controller's state when it is asked first, and feeds it the records
/// that are stepped from then on, so that it has a state of its own to plan on. A process that does
/// not answer in time, ends, or says what cannot be read is killed, and the plan is lost; the next
/// question starts another, which goes on from what the policy saved. `ask`, `stepped` and `take`
/// never wait for it, and neither does the end of the planner.
class ProcessPlanner final : public Planner {
 public:
  /// `wake` is called from the planner's thread when an answer is ready; it must make the world's
  /// `wait_events` return.
  ProcessPlanner(ProcessPlannerOptions options, std::function<void()> wake);

  ProcessPlanner(const ProcessPlanner&) = delete;
  ProcessPlanner& operator=(const ProcessPlanner&) = delete;

  ~ProcessPlanner() override;

  void ask(const PlanRequest& request, Controller& controller) override;
  bool is_busy() const override;
  std::optional<PlanAnswer> take(Instant now) override;

  Instant ready_at() const override { return Instant::never(); }

  void stepped(std::span<const std::byte> record) override;

 private:
  /// What the thread is to do next.
  struct Work {
    std::unique_ptr<State> from;  ///< Not null: a new process begins with this state.
    ByteWriter records;           ///< Since the state that the process has, or began with.
    std::optional<PlanRequest> request;
    std::size_t jobs = 0;  ///< In the view.
  };

  struct Failure {
    PlanLoss loss;
    std::string detail;
  };

  using Outcome = std::optional<Failure>;

  void live();
  bool has_work() const;
  Outcome carry_out(Work& work, PlanProposed& proposed);
  Outcome start(const State& from);
  Outcome hear(FrameKind expected, PolicyProcess::Clock::time_point deadline);
  Outcome failed(Exchange how);
  Outcome unreadable();
  PolicyProcess::Clock::time_point due() const;

  ProcessPlannerOptions options_;
  std::function<void()> wake_;
  int stop_;  ///< An eventfd: readable from the planner's end on.

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool busy_ = false;     ///< From `ask` until `take` gave the answer.
  bool follows_ = false;  ///< The process has, or will have, all that was stepped before `work_`.
  Work work_;
  ByteWriter later_;  ///< Records since the question in `work_`, where there is one.
  std::optional<PlanAnswer> answer_;

  // The thread's own.
  PolicyProcess process_;
  SavedPolicy saved_;
  ByteWriter out_;
  std::vector<std::byte> heard_;

  std::thread thread_;
};

}  // namespace orrery::runtime
