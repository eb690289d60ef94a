// SQLite's write-ahead log, looked at before SQLite does: it drops without a word whatever follows
// a frame that is damaged.
#pragma once

#include <string>

#include "core/base/result.hpp"

namespace orrery::runtime {

/// Where the log of a database lies.
std::string log_of(const std::string& database);

/// Whether everything in the log that was ever committed can still be read. What a crash leaves is
/// no damage: a last transaction of which parts are missing was never acknowledged. Refused are a
/// head that is damaged while frames follow it, and a frame that is damaged while a transaction
/// follows that was begun later: by then the one with the damaged frame was durable. The error
/// names the frame and the remedy.
///
/// A log that a process writes meanwhile may look damaged; ask again whether one does. No log, or
/// an empty one, is sound. Changes nothing.
Status check_log(const std::string& database);

}  // namespace orrery::runtime
