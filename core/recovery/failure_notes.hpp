// What a job remembers of its failures for people: which worker failed, how, and what it said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/record/event.hpp"
#include "core/state/step.hpp"

namespace orrery {

/// Failures that a job remembers. Only the latest keeps the lines that its worker wrote last.
inline constexpr std::size_t kFailuresKept = 3;

/// Most bytes of a sentence or of last lines that the state keeps.
inline constexpr std::size_t kFailureTextMax = 4096;

/// How an agent begins a sentence that says no more than the exit code: "it ended with 7".
inline constexpr std::string_view kPlainEnd = "it ended";

/// Notes that the worker of this rank failed; the same start of a worker is noted once.
void note_failure(Step& step, JobState& job, std::uint32_t rank, Reason reason);

/// Adds the sentence and the last lines to the failure that they belong to, which may be reported
/// after them; those of a worker that is the root of no failure, or forgotten, are ignored.
void on_event(Step& step, const FailureExplained& event);

/// "main 0 on node-1 ended with exit code 7", "main 0 on node-1 was ended by signal 9 (SIGKILL)",
/// "main 0 on node-1 did not start: no such file"; a sentence of several lines gives its first, and
/// one that says why its node killed a worker stands in place of what a signal may mean.
/// Behind it stands whom the worker blames, where it has said so: "; it blames its node: no
/// memory".
std::string failure_in_words(const State& state, const JobState& job, const WorkerFailure& failure);

}  // namespace orrery
