#include "runtime/sdk/served_call.hpp"

#include <algorithm>
#include <limits>

#include "runtime/sdk/served_connection.hpp"

namespace orrery::sdk {
namespace detail {
namespace {

/// Far beyond any deadline that makes sense, and far from the end of the clock's range.
constexpr std::uint64_t kDeadlineMax_ms = std::uint64_t{1} << 40;

SteadyTime deadline_of(const CallMessage& message) {
  return std::chrono::steady_clock::now() +
         Milliseconds(std::min(message.deadline_ms, kDeadlineMax_ms));
}

/// The caller's own clock may not have told it yet that the deadline has passed.
[[noreturn]] void raise_cancelled(const ServedCall& call) {
  if (std::chrono::steady_clock::now() >= call.deadline)
    raise(error_fields("Timeout", call.message.method + ": its deadline has passed"));
  raise(error_fields("Cancelled", call.message.method + ": no caller waits for it any more"));
}

}  // namespace

ServedCall::ServedCall(CallMessage asked, std::string who, std::weak_ptr<ServedConnection> over)
    : message(std::move(asked)),
      caller(std::move(who)),
      deadline(deadline_of(message)),
      connection(std::move(over)),
      credit_(message.credit) {}

void ServedCall::put_item(Value item) {
  if (!message.stream) {
    if (is_abandoned()) raise_cancelled(*this);
    kept_.push_back(std::move(item));
    return;
  }
  {
    std::unique_lock lock(mutex_);
    const bool in_time =
        changed_.wait_until(lock, deadline, [this] { return credit_ > 0 || is_abandoned(); });
    if (!in_time || is_abandoned()) raise_cancelled(*this);
    --credit_;
  }
  std::shared_ptr<const WrittenValues> written = write_result(std::move(item));
  const std::uint64_t bytes = bytes_in(written->buffers);
  if (bytes > message.result_max) {
    ErrorFields error = error_fields(
        "TooLarge",
        message.method + ": found an item of " + std::to_string(bytes) + " bytes, needed at most " +
            std::to_string(message.result_max) + "; give smaller items");
    error.details["bytes"] = bytes;
    error.details["limit"] = message.result_max;
    raise(std::move(error));
  }
  Io::instance().perform([self = shared_from_this(), written = std::move(written)] {
    const auto over = self->connection.lock();
    if (over && !self->is_over) over->item(self->message.id, written);
  });
}

void ServedCall::abandon() {
  if (abandoned_.exchange(true)) return;
  {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
  }
  if (on_abandoned) std::exchange(on_abandoned, nullptr)();
}

void ServedCall::add_credit(std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  credit_ += std::min(count, std::numeric_limits<std::uint64_t>::max() - credit_);
  changed_.notify_all();
}

void put_item(ServedCall& call, Value item) { call.put_item(std::move(item)); }

}  // namespace detail

const std::string& Context::caller() const { return call_->caller; }

const std::string& Context::method() const { return call_->message.method; }

std::chrono::milliseconds Context::left() const {
  return std::max(
      Milliseconds(0),
      std::chrono::ceil<Milliseconds>(call_->deadline - std::chrono::steady_clock::now()));
}

bool Context::cancelled() const {
  return call_->is_abandoned() || std::chrono::steady_clock::now() >= call_->deadline;
}

void Context::check() const {
  if (cancelled()) detail::raise_cancelled(*call_);
}

std::uint64_t Context::attempt() const { return call_->message.attempt; }

}  // namespace orrery::sdk
