// One call as the worker that serves it sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "runtime/sdk/io_role.hpp"
#include "runtime/sdk/messages.hpp"
#include "runtime/sdk/method.hpp"

namespace orrery::sdk::detail {

class ServedConnection;

/// What a call is answered with; a stream that is complete has no values.
struct StreamEnd {};

using Outcome = std::variant<std::shared_ptr<const WrittenValues>, ErrorFields, StreamEnd>;

class ServedCall : public std::enable_shared_from_this<ServedCall> {
 public:
  ServedCall(CallMessage message, std::string caller, std::weak_ptr<ServedConnection> connection);

  /// Its arguments are taken when it runs.
  CallMessage message;
  const std::string caller;
  const SteadyTime deadline;

  // --- any thread ---

  bool is_abandoned() const { return abandoned_.load(); }

  /// Hands an item on, once there is credit; or keeps it, where no stream is asked for.
  void put_item(Value item);

  /// Items that were kept.
  std::vector<Value> take_kept() { return std::move(kept_); }

  // --- the I/O thread ---

  /// No caller waits any more. `on_abandoned` is called once.
  void abandon();

  void add_credit(std::uint64_t count);

  const std::weak_ptr<ServedConnection> connection;
  const MethodEntry* method = nullptr;  ///< Of the worker's table; null: one of the SDK's own.
  std::function<void()> on_abandoned;
  Io::Timer timer;
  bool is_over = false;   ///< Answered, or no caller waits and its answer will be dropped.
  bool is_begun = false;  ///< Runs, or has run.

 private:
  std::atomic<bool> abandoned_{false};
  std::mutex mutex_;
  IoCondition changed_;
  std::uint64_t credit_;
  std::vector<Value> kept_;
};

using ServedCallPtr = std::shared_ptr<ServedCall>;

}  // namespace orrery::sdk::detail
