// One call as its caller sees it: what is sent, and what has come of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/sdk/future.hpp"
#include "runtime/sdk/io_role.hpp"
#include "runtime/sdk/messages.hpp"

namespace orrery::sdk::detail {

/// Which worker is called: one by its name, or the one that has a rank inside a role.
struct CallTarget {
  std::string worker;  ///< Empty: by role.
  std::string role;
  std::int64_t role_rank = -1;
  std::int64_t rank = -1;  ///< In the job, where it is known.

  std::string text() const;
};

/// What is sent.
struct CallRequest {
  CallTarget target;
  std::string method;
  std::shared_ptr<const WrittenValues> values;
  CallOptions options;
  bool stream = false;
  std::string claim;  ///< A group that must be held on the connection first; empty: none.
  std::shared_ptr<std::atomic<bool>> stale;  ///< Set by an error that says that the membership is
                                             ///< another; may be null.
};

class CallState : public std::enable_shared_from_this<CallState> {
 public:
  explicit CallState(CallRequest request);

  const CallRequest request;
  const SteadyTime deadline;

  // --- any thread ---

  bool is_ready() const;
  bool wait_until(SteadyTime time) const;
  Value take_result();
  std::optional<Value> take_item();
  std::optional<ErrorFields> error() const;

  /// Whether a stream was answered with items, rather than with one value.
  bool was_stream() const;

  void cancel();

  /// Of a stream: all its items may come now, whether somebody takes them or not; where `keeps` is
  /// false they are dropped.
  void let_all_come(bool keeps);

  // --- the I/O thread ---

  /// Items that may come from the beginning.
  std::uint64_t first_credit() const;

  void complete(Value value);
  void fail(ErrorFields error);

  /// False where there was no credit for it.
  bool add_item(Value value);
  void end_stream();

  /// What a driver of calls does when the caller cancels, and when it took items.
  std::function<void()> on_cancel;
  std::function<void(std::uint64_t count)> on_credit;
  Io::Timer timer;             ///< Its deadline.
  std::shared_ptr<void> keep;  ///< The caller's connections, which live until the call is over.
  int attempt = 0;             ///< From 0.
  bool is_fresh = false;       ///< The directory has been asked since the attempt began.
  int tries = 0;               ///< Of finding and reaching the worker, in this attempt.

 private:
  /// What is to be dropped once the lock is free: it may close connections, which look at this
  /// call.
  [[nodiscard]] std::shared_ptr<void> finish_locked();

  mutable std::mutex mutex_;
  mutable IoCondition changed_;
  bool ready_ = false;
  bool streamed_ = false;
  bool taken_ = false;
  std::optional<Value> value_;
  std::optional<ErrorFields> error_;
  std::deque<Value> items_;
  std::uint64_t credit_;        ///< Items that may still come.
  std::uint64_t returned_ = 0;  ///< Credit of items that were taken, not told yet.
  std::uint64_t all_ = 0;       ///< Credit of `let_all_come`.
  bool drops_ = false;
};

}  // namespace orrery::sdk::detail
