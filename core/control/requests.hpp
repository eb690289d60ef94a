// What users and the declaration of the cluster ask for.
#pragma once

#include "core/record/event.hpp"
#include "core/state/step.hpp"

namespace orrery {

void on_event(Step& step, const EpochStarted& event);
void on_event(Step& step, const NodesDeclared& event);
void on_event(Step& step, const QuotasDeclared& event);
void on_event(Step& step, const JobSubmitted& event);
void on_event(Step& step, const ScaleRequested& event);
void on_event(Step& step, const StopRequested& event);
void on_event(Step& step, const DeleteRequested& event);
void on_event(Step& step, const JobChanged& event);

/// Why a submission of this specification would be refused now; empty where it would be taken. Says
/// nothing of names that live jobs have.
std::string why_refused(const State& state, const std::shared_ptr<const JobSpec>& spec);

}  // namespace orrery
