// When something is due to be done about a job: one instant per kind of timer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// What is due. core/control/timers.cpp has the table of what is done then, docs/failover.md the
/// one of who sets and clears each.
enum class TimerKind : std::uint8_t {
  Sole,     ///< Rules before 3: the one timer of a job; its phase says what is due.
  Wait,     ///< Pending: the end of the longest wait.
  Start,    ///< Starting: its end; with strict recovery that of all tries together.
  Change,   ///< Rescheduling, Restarting: the end of the wait for places that others leave.
  Run,      ///< Since the first start, in every phase: the end of the longest run.
  Drain,    ///< Workers that were told to stop are killed then.
  Kill,     ///< Workers that were killed and do not end are given up then.
  Backoff,  ///< The next membership does not start earlier.
  Lists,    ///< The lists of nodes that the next membership starts on are looked for again.
  Answer,   ///< What was asked of a sub-master or for new nodes is answered by then.
  Contact,  ///< Unknown: the nodes are heard by then.
};

template <>
struct EnumNames<TimerKind> {
  static constexpr std::array kNames{"sole",
                                     "wait",
                                     "start",
                                     "change",
                                     "run",
                                     "drain",
                                     "kill",
                                     "backoff",
                                     "lists",
                                     "answer",
                                     "contact"};
};

inline constexpr std::size_t kTimerKinds = EnumNames<TimerKind>::kNames.size();

/// The timers of one job. A job without any takes the space of a pointer. Only `State::set_timer`
/// changes them, since the state's heap has to know.
class JobTimers {
 public:
  /// One timer that is set.
  struct Entry {
    TimerKind kind = TimerKind::Sole;
    Instant at;

    template <class Self, class Visitor>
    static void fields(Self& self, Visitor& v) {
      v.field("kind", self.kind);
      v.field("at", self.at);
    }
  };

  JobTimers() = default;
  JobTimers(JobTimers&&) noexcept = default;
  JobTimers& operator=(JobTimers&&) noexcept = default;

  JobTimers(const JobTimers& other)
      : all_(other.all_ ? std::make_unique<All>(*other.all_) : nullptr) {}

  JobTimers& operator=(const JobTimers& other) {
    if (this != &other) *this = JobTimers(other);
    return *this;
  }

  ~JobTimers() = default;

  /// Never where it is not set.
  Instant at(TimerKind kind) const {
    return all_ ? all_->at[static_cast<std::size_t>(kind)] : Instant::never();
  }

  bool is_set(TimerKind kind) const { return !at(kind).is_never(); }

  /// The earliest that is armed; never where none is.
  Instant earliest() const { return all_ ? all_->earliest : Instant::never(); }

  /// The kind of `earliest()`; of equal ones the first in the order of their names. One is set.
  TimerKind due() const {
    for (std::size_t i = 0; i < kTimerKinds; ++i)
      if (all_->at[i] == all_->earliest) return static_cast<TimerKind>(i);
    return TimerKind::Sole;
  }

  /// Sets and arms; never: clears.
  void set(TimerKind kind, Instant at) {
    if (this->at(kind) == at) return;
    note(kind, at);
    all_->earliest = *std::min_element(all_->at.begin(), all_->at.end());
    if (all_->earliest.is_never()) all_.reset();
  }

  /// Rules before 3: the one timer that is armed.
  void set_sole(Instant at) {
    if (note(TimerKind::Sole, at)) all_->earliest = at;
  }

  /// Rules before 3: sets it without arming it. False where nothing was or is set at all.
  bool note(TimerKind kind, Instant at) {
    if (!all_) {
      if (at.is_never()) return false;
      all_ = std::make_unique<All>();
    }
    all_->at[static_cast<std::size_t>(kind)] = at;
    return true;
  }

  /// After reading: which are armed follows from the rules.
  void rearm(bool sole) {
    if (!all_) return;
    all_->earliest = sole ? all_->at.front() : *std::min_element(all_->at.begin(), all_->at.end());
  }

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    std::vector<Entry> entries = self.entries();
    v.field("entries", entries);
    if constexpr (!std::is_const_v<Self>)
      for (const Entry& entry : entries) self.note(entry.kind, entry.at);
  }

 private:
  struct All {
    All() { at.fill(Instant::never()); }

    std::array<Instant, kTimerKinds> at;
    Instant earliest = Instant::never();
  };

  std::vector<Entry> entries() const {
    std::vector<Entry> out;
    for (std::size_t i = 0; i < kTimerKinds; ++i)
      if (const Instant at = this->at(static_cast<TimerKind>(i)); !at.is_never())
        out.push_back({static_cast<TimerKind>(i), at});
    return out;
  }

  std::unique_ptr<All> all_;
};

/// The timers of a job in a record of version 4 and before.
struct OlderTimers {
  Instant not_before = Instant::never();
  Instant deadline = Instant::never();

  /// Leaves what a later record says.
  void put_into(JobTimers& timers) const {
    if (!not_before.is_never()) timers.note(TimerKind::Backoff, not_before);
    if (!deadline.is_never()) timers.note(TimerKind::Sole, deadline);
  }
};

}  // namespace orrery
