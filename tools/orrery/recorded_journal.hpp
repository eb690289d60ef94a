// The run that a journal's file records.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/store/sqlite_store.hpp"
#include "sim/rehearsal/recorded_run.hpp"

namespace orrery::cli {

/// By so little instants of one cluster differ that are the same: what messages take.
inline constexpr Duration kJournalNoise = Duration::milliseconds(20);

/// The journal in the file, for reading. Errors, each with the path: it cannot be read, is of
/// another version, or its first records were dropped.
Result<std::unique_ptr<runtime::SqliteStore>> whole_journal(const std::string& path);

/// The run that a whole journal records; `listeners` hear it. Errors, each with the path: it has
/// lost records.
Result<sim::RecordedRun> recorded_journal(runtime::SqliteStore& store,
                                          const std::string& path,
                                          std::vector<sim::RunListener*> listeners);

/// Both in one.
Result<sim::RecordedRun> recorded_journal(const std::string& path,
                                          std::vector<sim::RunListener*> listeners);

}  // namespace orrery::cli
