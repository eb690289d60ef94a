// Calls under way: a value or a stream of items that is still to come.
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/sdk/errors.hpp"
#include "runtime/sdk/value.hpp"

namespace orrery::sdk {

/// How one call is made.
struct CallOptions {
  /// From now until the answer; no call waits for ever.
  std::chrono::milliseconds deadline{600'000};

  /// How often the call is made again after WorkerLost, to the worker that then has the rank. The
  /// method must be declared idempotent, else the second attempt is NotIdempotent.
  int retries = 0;

  /// A name for this very call, at most 64 bytes: the worker gives the same answer again instead
  /// of running twice. Empty: none, but a call with retries gets a random one.
  std::string once;

  /// The membership that the call is made for; another one is GenerationChanged.
  std::optional<std::uint64_t> generation;

  std::uint64_t result_max = std::uint64_t{2} << 30;  ///< Bytes of buffers in an answer.
  std::uint64_t credit = 16;                          ///< Items of a stream that may be ahead.
};

namespace detail {

class CallState;

/// BadArguments for an answer that is not of the type that was asked for.
[[noreturn]] void raise_unfit_answer(const CallState& state, const std::string& why);

template <class T>
T answer_as(const CallState& state, Value&& value) {
  if constexpr (std::is_void_v<T>) {
    return;
  } else {
    try {
      return value_as<T>(std::move(value));
    } catch (const nlohmann::json::exception& error) {
      raise_unfit_answer(state, error.what());
    }
  }
}

}  // namespace detail

/// A call whose answer is not typed. Copies are the same call. All functions: any thread.
class PendingCall {
 public:
  PendingCall() = default;

  explicit PendingCall(std::shared_ptr<detail::CallState> state) : state_(std::move(state)) {}

  /// Whether the answer, or the error, is there.
  bool is_ready() const;

  /// Waits at most so long; whether it is ready.
  bool wait_for(std::chrono::milliseconds time) const;

  /// Waits for the end, which the call's deadline bounds.
  void wait() const;

  /// The answer; moves it out, so once. Throws a CallError.
  Value result();

  /// The error with which it ended, once it is ready; nothing where it succeeded.
  std::optional<ErrorFields> error() const;

  /// Ends as Cancelled, unless it is over; the worker is told.
  void cancel();

 protected:
  std::shared_ptr<detail::CallState> state_;
};

/// An answer of type `T`, by its conversion from JSON. `Future<void>` throws the answer away.
template <class T = Value>
class Future : public PendingCall {
 public:
  using PendingCall::PendingCall;

  /// Waits for it; once. Throws a CallError.
  T get() { return detail::answer_as<T>(*state_, result()); }
};

/// Items of a stream as they come. Not more than the credit are on their way: a worker waits for a
/// slow reader. Dropped before its end, it is cancelled.
class PendingStream {
 public:
  PendingStream() = default;

  explicit PendingStream(std::shared_ptr<detail::CallState> state) : state_(std::move(state)) {}

  PendingStream(PendingStream&&) = default;
  PendingStream& operator=(PendingStream&&) = default;
  PendingStream(const PendingStream&) = delete;
  PendingStream& operator=(const PendingStream&) = delete;
  ~PendingStream();

  /// The next item; nothing at the end. Throws a CallError.
  std::optional<Value> next_value();

  void cancel();

 protected:
  std::shared_ptr<detail::CallState> state_;
};

/// A stream of `T`: `while (auto item = stream.next())`, or a range.
template <class T = Value>
class Stream : public PendingStream {
 public:
  using PendingStream::PendingStream;

  std::optional<T> next() {
    std::optional<Value> value = next_value();
    if (!value) return std::nullopt;
    return detail::answer_as<T>(*state_, std::move(*value));
  }

  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;

    explicit Iterator(Stream& stream) : stream_(&stream) { ++*this; }

    const T& operator*() const { return *item_; }

    T& operator*() { return *item_; }

    Iterator& operator++() {
      item_ = stream_->next();
      return *this;
    }

    void operator++(int) { ++*this; }

    friend bool operator==(const Iterator& at, std::default_sentinel_t) { return !at.item_; }

   private:
    Stream* stream_ = nullptr;
    std::optional<T> item_;
  };

  Iterator begin() { return Iterator(*this); }

  std::default_sentinel_t end() { return {}; }
};

}  // namespace orrery::sdk
