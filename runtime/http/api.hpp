// What all handlers share: how they answer, and how they get at the controller.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/record/event.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/http/exchange.hpp"
#include "runtime/http/router.hpp"

namespace orrery::http {

/// A JSON answer; a line end is added.
Response json_response(std::string body, int status = 200);

/// Answers an error: {"error":{"message":...,"details":[...]}}, or DI-orchestrator's envelope.
void fail(const CallPtr& call,
          int status,
          const std::string& message,
          const std::vector<std::string>& details = {},
          const std::vector<Header>& headers = {});

/// The same for everything that is wrong with an input.
void fail(const CallPtr& call, int status, const Errors& errors);

/// 404, for a job of this full name.
void fail_without_job(const CallPtr& call, const std::string& name);

/// Checks that no parameter of the query is wrong or unknown; answers 400 and says false where one
/// is. After all have been taken.
bool query_is_sound(const CallPtr& call, std::string_view known);

/// Whether the state is that of the cluster: this controller leads, or did until its store failed.
bool knows_jobs(const runtime::ControllerFacts& facts);

/// Gets at the controller from the I/O thread. Cheap to copy.
class ControlClient {
 public:
  /// What is done on the I/O thread with what was found; may be empty.
  using Then = std::function<void()>;

  /// `control` outlives all handlers.
  ControlClient(runtime::ControlApi& control, std::shared_ptr<Executor> executor)
      : control_(&control), executor_(std::move(executor)) {}

  /// Runs `find` on the core thread, where it only copies, then what it returns on the I/O thread.
  /// Where the controller knows nothing yet, or another one leads, the call is answered 503 or
  /// redirected instead.
  void look(CallPtr call, std::function<Then(const runtime::ControlView&)> find) const;

  /// As `look`, but where there is no such job the call is answered 404. "a" means "default.a".
  void look_at_job(CallPtr call,
                   const std::string& name,
                   std::function<Then(const runtime::ControlView&, const JobState&)> find) const;

  /// Asks, and tells the outcome on the I/O thread: Accepted or Refused. Unavailable is answered
  /// 503.
  void ask(CallPtr call,
           EventBody request,
           std::function<void(const runtime::RequestOutcome&)> then) const;

  /// As `ask`, and tells Unavailable too: for who has more to say then.
  void try_to_ask(EventBody request,
                  std::function<void(const runtime::RequestOutcome&)> then) const;

  /// Goes on once what was looked at is durable. Where that cannot be the call is answered 503.
  void settle(CallPtr call, Then then) const;

  /// As `ask`; with an Idempotency-Key the same request of the same caller is made once, and each
  /// of its calls is told its outcome. This process remembers the last 1,000 of them.
  void ask_once(CallPtr call,
                EventBody request,
                std::function<void(const runtime::RequestOutcome&)> then) const;

  runtime::ControlApi& control() const { return *control_; }

  const std::shared_ptr<Executor>& executor() const { return executor_; }

 private:
  /// A request with a key. On the I/O thread only.
  struct Asked {
    std::optional<runtime::RequestOutcome> outcome;
    std::vector<std::function<void(const runtime::RequestOutcome&)>> waiting;
  };

  struct AskedOnce {
    std::map<std::string, Asked> by_key;
    std::deque<std::string> keys;  ///< Those with an outcome, the oldest first.
  };

  static void tell(AskedOnce& asked,
                   const std::string& key,
                   const runtime::RequestOutcome& outcome);

  runtime::ControlApi* control_;
  std::shared_ptr<Executor> executor_;
  std::shared_ptr<AskedOnce> asked_ = std::make_shared<AskedOnce>();
};

/// The longest Idempotency-Key.
inline constexpr std::size_t kKeyBytesMax = 256;

/// "default.a" of "a"; full names stay.
std::string full_job_name(const std::string& name);

}  // namespace orrery::http
