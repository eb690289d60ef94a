// A journal read back: the same state again, and the plans checked against the policy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/digest.hpp"
#include "core/base/result.hpp"
#include "core/control/controller.hpp"
#include "core/driver/state_store.hpp"
#include "core/plan/policy.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// Where a journal ends.
struct JournalEnd {
  Sequence last;               ///< Last record; 0 where the journal is empty.
  Digest chain;                ///< Its chain digest: what Driver::continue_from takes.
  std::uint64_t replayed = 0;  ///< Records that were stepped.
  Sequence snapshot;           ///< Of the snapshot that replay began with; 0: none.
};

/// Reads records from `first` on, checks that they follow each other and that each chain digest is
/// right, and hands the decoded events to `visit` until it returns false. `chain` is the digest of
/// the record before `first`. Errors name the sequence of the first record that is wrong.
Result<JournalEnd> read_journal(StateStore& store,
                                Sequence first,
                                Digest chain,
                                const std::function<bool(Sequence, const Event&)>& visit);

/// Brings a fresh controller to where the journal ends: from the latest snapshot if there is one,
/// else from the first record. Emits no commands: they come from reconciling with what runs.
Result<JournalEnd> replay(StateStore& store, Controller& controller);

/// What a policy said when it was asked again.
struct RecomputeReport {
  std::uint64_t plans = 0;                     ///< Recorded plans that were checked.
  std::uint64_t different = 0;                 ///< Of those, not equal to what the policy says now.
  std::vector<std::string> first_differences;  ///< At most 10, in words.
};

/// Folds the journal from its first record and asks a fresh `policy` for every recorded plan, on
/// the view that it was made from. The policy must be the one that the journal names.
Result<RecomputeReport> recompute(StateStore& store, Policy& policy);

}  // namespace orrery
