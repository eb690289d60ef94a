// Many jobs or requests of one call: looked at in slices; asked in order, waited for together.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/record/event.hpp"
#include "runtime/controller/control_api.hpp"
#include "runtime/http/api.hpp"

namespace orrery::http {

/// How many requests of a batch wait for the disk at a time. One after the other each waits for a
/// write of its own, several ms; those on their way together share one.
inline constexpr std::size_t kBatchOnTheWayMax = 64;

/// After which outcome no more requests are asked. Those on their way then are waited for.
enum class BatchEnds { AtRefusal, WhenUnavailable };

/// Asks the requests in their order, and tells on the I/O thread the outcomes of those that were
/// asked, in the same order, once each has one: of all, unless `ends` came first.
void ask_all(const ControlClient& client,
             std::vector<EventBody> requests,
             BatchEnds ends,
             std::function<void(const std::vector<runtime::RequestOutcome>&)> then);

/// Calls `look` with each index below `count`, in order, on the core thread, where it only copies;
/// then `then` on the I/O thread. The core decides in between, for a look can take long: the place
/// of a job on a large cluster is looked for. Where the controller cannot tell, the call is
/// answered as by ControlClient::look.
void look_at_all(const ControlClient& client,
                 const CallPtr& call,
                 std::size_t count,
                 const std::function<void(const runtime::ControlView&, std::size_t)>& look,
                 const ControlClient::Then& then);

}  // namespace orrery::http
