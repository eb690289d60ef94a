// What happened and why, in the words that a user reads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/enum_names.hpp"
#include "core/record/command.hpp"

namespace orrery {

/// Whether a person should worry about an event.
enum class Severity : std::uint8_t { Normal, Warning };

template <>
struct EnumNames<Severity> {
  static constexpr std::array kNames{"Normal", "Warning"};
};

/// One line for `orrery events`.
struct UserEvent {
  Severity severity = Severity::Normal;
  std::string name;  ///< "JobRunning", "JobRestarting", "GrantDropped", ...
  std::string message;
};

/// A notice in words. Restarting, Rescheduling, Unknown and Failed are warnings.
UserEvent user_event(const Notice& notice);

/// A reason in words.
std::string_view in_words(Reason reason);

/// What became of a node, and why something was ignored, in words.
std::string_view in_words(NodeChange change);
std::string_view in_words(Ignored why);

/// "it did not answer in time": what became of the policy.
std::string_view in_words(PlanLoss loss);

/// "las decides from now on, in place of fifo: ...".
std::string in_words(const PlanChoice& choice);

}  // namespace orrery
