// The sample worker's checkpoint: a file with the number of finished steps.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"

namespace orrery::worker {

/// The steps in the file; 0 where there is none. Error: it holds something else.
Result<std::int64_t> read_checkpoint(const std::string& file);

/// Replaces the file at once and for good: after a crash it holds the old number or the new one.
/// `rank` keeps apart ranks that write at the same time.
Status write_checkpoint(const std::string& file, std::int64_t step, std::int32_t rank);

}  // namespace orrery::worker
