#include "runtime/sdk/call_state.hpp"

#include <algorithm>

namespace orrery::sdk::detail {

std::string CallTarget::text() const {
  return worker.empty() ? role + " " + std::to_string(role_rank) : "worker " + worker;
}

CallState::CallState(CallRequest asked)
    : request(std::move(asked)),
      deadline(from_now(request.options.deadline)),
      credit_(request.options.credit) {}

bool CallState::is_ready() const {
  const std::scoped_lock lock(mutex_);
  return ready_;
}

bool CallState::wait_until(SteadyTime time) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, time, [this] { return ready_; });
}

Value CallState::take_result() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_; });
  if (error_) raise(*error_);
  if (taken_) raise(error_fields("BadArguments", "the answer was taken before; take it once"));
  taken_ = true;
  return value_ ? std::move(*value_) : Value();
}

std::optional<Value> CallState::take_item() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_ || !items_.empty(); });
  if (!items_.empty()) {
    Value out = std::move(items_.front());
    items_.pop_front();
    ++returned_;
    if (!ready_ && returned_ * 2 >= std::max<std::uint64_t>(1, request.options.credit)) {
      const std::uint64_t count = std::exchange(returned_, 0);
      credit_ += count;
      lock.unlock();
      Io::instance().perform([self = shared_from_this(), count] {
        if (self->on_credit) self->on_credit(count);
      });
    }
    return out;
  }
  if (error_) raise(*error_);
  if (value_ && !taken_) {  // The method gives no stream: its value is the only item.
    taken_ = true;
    return std::move(*value_);
  }
  return std::nullopt;
}

std::optional<ErrorFields> CallState::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

bool CallState::was_stream() const {
  const std::scoped_lock lock(mutex_);
  return streamed_;
}

void CallState::cancel() {
  Io::instance().post([self = shared_from_this()] {
    if (self->is_ready()) return;
    const std::function<void()> tell = self->on_cancel;
    self->fail(error_fields("Cancelled", self->request.method + ": its caller cancelled it"));
    if (tell) tell();
  });
}

void CallState::let_all_come(bool keeps) {
  constexpr std::uint64_t kAll = std::uint64_t{1} << 40;
  Io::instance().perform([self = shared_from_this(), keeps] {
    {
      const std::scoped_lock lock(self->mutex_);
      if (self->ready_) return;
      self->drops_ = !keeps;
      if (!keeps) self->items_.clear();
      if (self->all_ > 0) return;
      self->all_ = kAll;
      self->credit_ += kAll;
    }
    // Where it is not sent yet, its first credit has it.
    if (self->on_credit) self->on_credit(kAll);
  });
}

std::uint64_t CallState::first_credit() const {
  const std::scoped_lock lock(mutex_);
  return request.options.credit + all_;
}

std::shared_ptr<void> CallState::finish_locked() {
  ready_ = true;
  changed_.notify_all();
  timer.reset();
  on_cancel = nullptr;
  on_credit = nullptr;
  return std::move(keep);
}

void CallState::complete(Value value) {
  std::shared_ptr<void> kept;
  const std::scoped_lock lock(mutex_);
  if (ready_) return;
  value_ = std::move(value);
  kept = finish_locked();
}

void CallState::fail(ErrorFields error) {
  std::shared_ptr<void> kept;
  const std::scoped_lock lock(mutex_);
  if (ready_) return;
  if (request.stale && (error.type == "WorkerLost" || error.type == "GenerationChanged"))
    request.stale->store(true);
  error_ = std::move(error);
  kept = finish_locked();
}

bool CallState::add_item(Value value) {
  const std::scoped_lock lock(mutex_);
  if (credit_ == 0) return false;
  --credit_;
  streamed_ = true;
  if (!ready_ && !drops_) items_.push_back(std::move(value));
  changed_.notify_all();
  return true;
}

void CallState::end_stream() {
  std::shared_ptr<void> kept;
  const std::scoped_lock lock(mutex_);
  if (ready_) return;
  streamed_ = true;
  kept = finish_locked();
}

}  // namespace orrery::sdk::detail
