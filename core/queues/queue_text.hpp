// A tree of queues as one line of text: how it travels with a policy's parameters and in journals.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "core/queues/queue_spec.hpp"

namespace orrery {

/// The parameter of every policy that holds the text.
inline constexpr std::string_view kQueuesParameter = "queues";

/// Canonical: equal trees have equal texts, and `parsed_queues` reads each back.
///
///     period=60s resources=devices,cpu; research weight=3 guarantee=16; vision parent=research
///
/// First what is of the whole, then a part for each queue; what is as it is initially is left out.
std::string queues_text(const QueuesSpec& spec);

/// The tree that the text says, checked by `check_queues` without a cluster. All errors, each with
/// the subject "policy.queues" and the queue's name.
Result<QueuesSpec> parsed_queues(std::string_view text);

/// The message of a fault with the name of its queue before it.
std::string fault_text(const QueuesSpec& spec, const QueueFault& fault);

}  // namespace orrery
