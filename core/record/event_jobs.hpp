// Which jobs an event is about.
#pragma once

#include <variant>

#include "core/base/ids.hpp"
#include "core/record/event.hpp"

namespace orrery {

/// Calls `visit` with the id of each job that the event is about: of a plan, with each that it
/// grants something, and else with one at most. A job may be none, or over.
template <class Visit>
void for_each_job_of(const Event& event, Visit visit) {
  if (const auto* plan = std::get_if<PlanProposed>(&event.body)) {
    for (const Grant& grant : plan->plan.grants) visit(grant.job);
    return;
  }
  std::visit(
      [&](const auto& body) {
        if constexpr (requires { visit(body.job); }) visit(body.job);
      },
      event.body);
}

}  // namespace orrery
