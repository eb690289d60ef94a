#include "runtime/sdk/future.hpp"

#include "runtime/sdk/call_state.hpp"

namespace orrery::sdk {

namespace detail {

void raise_unfit_answer(const CallState& state, const std::string& why) {
  throw BadArguments("the answer of " + state.request.method + " by " +
                     state.request.target.text() + ": " + why +
                     "; ask for the type that the method returns");
}

}  // namespace detail

bool PendingCall::is_ready() const { return state_->is_ready(); }

bool PendingCall::wait_for(std::chrono::milliseconds time) const {
  return state_->wait_until(from_now(time));
}

void PendingCall::wait() const { state_->wait_until(SteadyTime::max()); }

Value PendingCall::result() { return state_->take_result(); }

std::optional<ErrorFields> PendingCall::error() const { return state_->error(); }

void PendingCall::cancel() { state_->cancel(); }

PendingStream::~PendingStream() {
  if (state_ && !state_->is_ready()) state_->cancel();
}

std::optional<Value> PendingStream::next_value() { return state_->take_item(); }

void PendingStream::cancel() { state_->cancel(); }

}  // namespace orrery::sdk
