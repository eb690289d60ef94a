// What a method knows of the call that it serves, and where the items of a stream go.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/sdk/value.hpp"

namespace orrery::sdk {

namespace detail {

class ServedCall;

/// Hands an item on; waits for credit. Throws Timeout after the deadline, Cancelled where no caller
/// waits any more.
void put_item(ServedCall& call, Value item);

}  // namespace detail

/// The call under way. A method that takes it has it as its first parameter.
class Context {
 public:
  explicit Context(std::shared_ptr<detail::ServedCall> call) : call_(std::move(call)) {}

  /// The worker's name, or "driver:NAME". The controller has vouched for it.
  const std::string& caller() const;

  const std::string& method() const;

  /// What is left until its deadline; 0 once that has passed.
  std::chrono::milliseconds left() const;

  /// Whether no caller waits for the answer: cancelled, too late, the caller is gone, or the worker
  /// is being drained.
  bool cancelled() const;

  /// Throws Cancelled where `cancelled()`.
  void check() const;

  /// From 0; above it the method is idempotent.
  std::uint64_t attempt() const;

  detail::ServedCall& call() const { return *call_; }

 private:
  std::shared_ptr<detail::ServedCall> call_;
};

/// Where a method puts the items of a stream, after its Context if it takes one. A caller that asks
/// for no stream gets the list of them.
template <class T = Value>
class Items {
 public:
  explicit Items(detail::ServedCall& call) : call_(call) {}

  /// Hands an item on; waits while the caller has not asked for more. Throws Cancelled where the
  /// caller has gone, has cancelled, or its deadline has passed.
  void put(T item) { detail::put_item(call_, value_of(std::move(item))); }

 private:
  detail::ServedCall& call_;
};

}  // namespace orrery::sdk
