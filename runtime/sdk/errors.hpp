// What can go wrong with a call: one class per type of the protocol (docs/calls.md).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sdk/value.hpp"

namespace orrery::sdk {

/// An error as it travels.
struct ErrorFields {
  std::string type = "Protocol";
  std::string message;              ///< What was found, what was needed; how to mend it.
  Value details = Value::object();  ///< What the type adds.
};

/// Base of everything that a call can end with. Its text is "TYPE: message".
class CallError : public std::runtime_error {
 public:
  explicit CallError(ErrorFields fields);

  const std::string& type() const { return fields_.type; }

  const std::string& message() const { return fields_.message; }

  const ErrorFields& fields() const { return fields_; }

 protected:
  std::int64_t number(const char* name) const;
  std::string text(const char* name) const;

 private:
  ErrorFields fields_;
};

/// The connection ended, or the directory has no such worker any more.
class WorkerLost : public CallError {
 public:
  using CallError::CallError;

  std::int64_t rank() const { return number("rank"); }

  std::string role() const { return text("role"); }

  /// Its rank in the role; -1 where it is not known.
  std::int64_t role_rank() const { return number("role_rank"); }

  std::string worker() const { return text("worker"); }

  std::int64_t generation() const { return number("generation"); }
};

/// The deadline passed.
class Timeout : public CallError {
 public:
  using CallError::CallError;
};

/// The caller cancelled, or the worker is being drained.
class Cancelled : public CallError {
 public:
  using CallError::CallError;
};

/// The membership is another than the call was made for.
class GenerationChanged : public CallError {
 public:
  using CallError::CallError;

  std::int64_t was() const { return number("was"); }

  std::int64_t is() const { return number("is"); }
};

/// The method threw.
class Remote : public CallError {
 public:
  using CallError::CallError;

  std::string class_name() const { return text("class"); }

  std::string trace() const { return text("trace"); }
};

class UnknownMethod : public CallError {
 public:
  using CallError::CallError;

  std::vector<std::string> methods() const;
};

/// Arguments that do not fit the method, data that does not fit the group, or an answer that is
/// not of the type that was asked for. A method may throw it itself.
class BadArguments : public CallError {
 public:
  using CallError::CallError;
  explicit BadArguments(std::string message);
};

class TooLarge : public CallError {
 public:
  using CallError::CallError;

  std::int64_t bytes() const { return number("bytes"); }

  std::int64_t limit() const { return number("limit"); }
};

/// An attempt after the first at a method that may run once.
class NotIdempotent : public CallError {
 public:
  using CallError::CallError;
};

/// Another driver holds this worker's group.
class SecondDriver : public CallError {
 public:
  using CallError::CallError;

  std::string driver() const { return text("driver"); }
};

class NotAuthorised : public CallError {
 public:
  using CallError::CallError;
};

class NoSuchWorker : public CallError {
 public:
  using CallError::CallError;
};

/// Base of the three errors of channels.
class ChannelError : public CallError {
 public:
  using CallError::CallError;

  std::string channel() const { return text("channel"); }
};

class ChannelFull : public ChannelError {
 public:
  using ChannelError::ChannelError;
};

class ChannelClosed : public ChannelError {
 public:
  using ChannelError::ChannelError;
};

class NoSuchChannel : public ChannelError {
 public:
  using ChannelError::ChannelError;
};

/// The other side broke a rule of the protocol.
class Protocol : public CallError {
 public:
  using CallError::CallError;
};

/// Settings or variables with which nothing can begin. Each finding says place, what was found,
/// what was needed and how to mend it; all at once.
class BadSettings : public std::runtime_error {
 public:
  explicit BadSettings(std::vector<std::string> findings);

  const std::vector<std::string>& findings() const { return findings_; }

 private:
  std::vector<std::string> findings_;
};

/// Throws the class of `fields.type`; an unknown type is a plain CallError.
[[noreturn]] void raise(ErrorFields fields);

namespace detail {

ErrorFields error_fields(std::string_view type, std::string message);

/// `error` of a message; anything that is none becomes Protocol.
ErrorFields error_from(const Value& value);

Value error_value(const ErrorFields& fields);

}  // namespace detail

}  // namespace orrery::sdk
