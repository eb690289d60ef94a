// Reports about single workers, packed into ranges of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/record/event.hpp"

namespace orrery {

/// Sorts `reports` by job, generation, incarnation, fact, the fact's details and rank, and joins
/// those that differ in nothing but adjoining or overlapping ranks: a repeated report appears once.
/// The order keeps a worker's story: Running comes before Ready, Ready before Exited, and an older
/// incarnation before a newer one.
void pack_reports(std::vector<WorkersChanged>& reports);

}  // namespace orrery
