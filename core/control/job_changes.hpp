// How one specification differs from another, field by field, and which of it a live job takes
// over.
#pragma once

#include <string>
#include <vector>

#include "core/job/spec.hpp"
#include "core/state/job_state.hpp"
#include "core/state/state.hpp"

namespace orrery {

/// One field that differs, as users call it: "priority", "roles.main.replicas".
struct SpecChange {
  std::string field;
  bool in_place = false;  ///< A live job takes it over without a new start of its workers.
};

/// What a job is now: its specification with the numbers of replicas that were set since.
JobSpec effective_spec(const JobState& job);

/// The same beside what a file wants: a range of replicas is held against a range, whatever number
/// inside it was set since; a fixed number is held against the number that was set.
JobSpec effective_spec(const JobState& job, const JobSpec& wanted);

/// Every field in which `wanted` differs from `has`, in the order of the specification; empty where
/// they are equal.
std::vector<SpecChange> changes_between(const JobSpec& has, const JobSpec& wanted);

/// Why a live job cannot become what `wanted` says; empty where it can.
std::string why_not_changed(const State& state, const JobState& job, const JobSpec& wanted);

}  // namespace orrery
