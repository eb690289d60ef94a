// The run that a journal's file records.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sim/rehearsal/recorded_run.hpp"

namespace orrery::cli {

/// By so little instants of one cluster differ that are the same: what messages take.
inline constexpr Duration kJournalNoise = Duration::milliseconds(20);

/// Reads the whole journal. `listeners` hear the run. Errors, each with the path: it cannot be
/// read, is of another version, has lost records, or its first ones were dropped.
Result<sim::RecordedRun> recorded_journal(const std::string& path,
                                          std::vector<sim::RunListener*> listeners);

}  // namespace orrery::cli
