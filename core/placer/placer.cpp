#include "core/placer/placer.hpp"

#include <string>

namespace orrery {

Random PlacementRequest::stream() const {
  return Random::stream(
      seed, "placer/" + std::to_string(job.value) + "/" + std::to_string(generation.value));
}

}  // namespace orrery
