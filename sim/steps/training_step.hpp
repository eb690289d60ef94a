// One step of data-, tensor- and pipeline-parallel training as a stage of work.
#pragma once

#include "sim/steps/cycle.hpp"

namespace orrery::sim {

/// The step that `inputs.work.traffic->step` describes, by the members of the elastic role. Devices
/// are numbered by rank; each run of tensor_parallel x pipeline_parallel of them is one
/// data-parallel replica, and of it each run of tensor_parallel one stage of the pipeline.
///
/// Sources of the formulas: docs/workloads.md.
Cycle training_step(const CycleInputs& inputs);

}  // namespace orrery::sim
