// A controller without a store or agents, for tests of what stands in front of it: the real core,
// on a thread of its own, with workers that do at once what they are told.
#pragma once

#include <climits>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/control/controller.hpp"
#include "runtime/controller/control_api.hpp"

namespace orrery::tests {

class FakeControl final : public runtime::ControlApi {
 public:
  enum class Thread {
    Own,     ///< As in the real controller.
    Caller,  ///< Everything happens before a call returns.
  };

  /// A cluster of `nodes` nodes n0, n1, ... with four devices each, at 10.0.0.1, 10.0.0.2, ...
  explicit FakeControl(Thread thread = Thread::Own, std::int32_t nodes = 4);
  ~FakeControl() override;
  FakeControl(const FakeControl&) = delete;
  FakeControl& operator=(const FakeControl&) = delete;

  void read(std::function<void(const runtime::ControlView&)> look) override;
  void ask(EventBody request, std::function<void(const runtime::RequestOutcome&)> done) override;
  void when_durable(std::function<void(const runtime::RequestOutcome&)> done) override;
  std::unique_ptr<runtime::Subscription> follow_events(
      std::size_t backlog, std::function<void(const runtime::EventLine&)> told) override;
  std::unique_ptr<runtime::Subscription> follow_changes(
      std::function<void(JobId)> changed) override;
  std::unique_ptr<runtime::Subscription> read_log(
      const runtime::LogQuery& query, std::function<void(const runtime::LogPiece&)> told) override;

  // --- for tests; each runs on the core thread and is over when it returns ---

  void step(EventBody body);

  /// Grants a job so many replicas; its workers come up.
  void grant(JobId job, std::int32_t replicas);

  /// Submits and grants.
  JobId running(const JobSpec& spec, std::int32_t replicas);

  /// The worker of this rank ends.
  void end_worker(JobId job, std::uint32_t rank, std::int32_t exit_code);

  /// After so many more requests the outcome of none is known.
  void fails_after(int requests);

  /// What is read from now on is never durable.
  void lose_what_is_decided();

  /// Before the next request is taken, this job is deleted by somebody else.
  void deleted_before_next_request(JobId job);

  /// Sends a line of a log to its followers; `last` ends it.
  void tell_log(const std::string& data, bool last = false, const std::string& error = {});
  void tell_log(const runtime::LogPiece& piece);

  /// Whose tokens and endpoints are known from now on; outlives this.
  void set_tokens(const runtime::TokenOwners& tokens);

  void set_facts(const std::function<void(runtime::ControllerFacts&)>& change);

  /// Looks at the state.
  template <class Look>
  auto with(Look look) {
    using Result = decltype(look(std::declval<const State&>()));
    std::promise<Result> promise;
    on_core([&] { promise.set_value(look(std::as_const(controller_).state())); });
    return promise.get_future().get();
  }

  /// Logs that are followed, or read, and not ended.
  std::size_t open_logs();

  /// Whose profilings were asked to be kept so far; none: of the job as a whole.
  std::vector<Rank> measured();

  /// Requests for a log so far, the latest last.
  std::vector<runtime::LogQuery> log_queries();

 private:
  struct Process {
    JobId job;
    Incarnation incarnation;
    Generation born;
    Rank birth_rank;
    Generation generation;
    Rank rank;
    bool ready = false;
    bool stopping = false;
  };

  struct Follower {
    std::uint64_t number = 0;
    std::function<void(const runtime::EventLine&)> event;
    std::function<void(JobId)> change;
    std::function<void(const runtime::LogPiece&)> log;
  };

  class Handle;

  void post(std::function<void()> task);
  void on_core(const std::function<void()>& task);
  void run();
  void step_one(EventBody body);
  void settle();
  void carry_out(const CommandBody& order);
  void tell(const std::vector<Notice>& notices);
  void tell_changed(JobId job);
  runtime::RequestOutcome outcome_of(const EventBody& request);
  std::unique_ptr<runtime::Subscription> follow(Follower follower);
  void forget(std::uint64_t number);

  Thread thread_kind_;
  std::mutex mutex_;  ///< Of the tasks and followers.
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::shared_ptr<Follower>> followers_;
  std::uint64_t next_follower_ = 1;
  std::vector<runtime::LogQuery> log_queries_;

  // On the core thread.
  Controller controller_;
  runtime::ControllerFacts facts_;
  std::vector<Rank> measured_;
  JobId goes_first_ = JobId::none();
  bool loses_ = false;
  int answers_left_ = INT_MAX;
  std::vector<runtime::NodeFacts> nodes_;
  const runtime::TokenOwners* tokens_ = nullptr;
  std::vector<Process> processes_;
  std::vector<runtime::EventLine> lines_;
  std::vector<AnswerRequest> answers_;
  std::size_t ignored_ = 0;
  std::uint64_t last_request_ = 1'000'000;
  Instant now_{1'000'000'000};

  std::thread thread_;
};

}  // namespace orrery::tests
