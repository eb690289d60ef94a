// The part of the storm's checker that reads the journal: its bytes, its order, its leaders, and
// what was promised before it was safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/record/command.hpp"
#include "core/record/event.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// One record as it was handed to the store.
struct JournalBytes {
  Sequence sequence;
  Digest chain;
  std::span<const std::byte> bytes;
};

/// Knows nothing of the core but the form of its records.
class JournalCheck {
 public:
  explicit JournalCheck(Violations& found) : found_(found) {}

  /// The store took a record from the leader of epoch `writer`. Returns the event in it, or null
  /// where there is none; it lives until the next call.
  const Event* appended(Instant now, Epoch writer, const JournalBytes& record);

  /// The store calls everything up to `sequence` durable.
  void durable(Sequence sequence) { durable_ = std::max(durable_, sequence); }

  /// A crash of the store's machine left the records up to `last`.
  void crashed(Instant now, Sequence last);

  /// An order left its leader.
  void released(Instant now, const Command& order);

  Sequence last() const { return Sequence{records_.size()}; }

  /// The epoch in force after the record, 0 where none.
  Epoch epoch_at(Sequence sequence) const;

 private:
  struct Known {
    Digest chain;
    Instant at;
    Epoch epoch;
  };

  void check_epoch(Instant now, const EpochStarted& begun);
  void check_answer(Instant now, const Command& order, const AnswerRequest& answer);

  Violations& found_;
  std::vector<Known> records_;
  Sequence durable_;
  Event event_;
  std::map<std::uint64_t, Sequence> submissions_;  ///< By the client's request.
  std::map<std::uint64_t, JobId> accepted_;        ///< Answers that were given, by request.
};

}  // namespace orrery::sim
