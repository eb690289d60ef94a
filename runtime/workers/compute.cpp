#include "runtime/workers/compute.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/random.hpp"

namespace orrery::worker {
namespace {

// One float in a thousand off is far beyond rounding, and far below what a wrong sum does.
constexpr float kTolerance = 1e-3F;

}  // namespace

std::vector<float> own_matrix(std::int32_t size, std::int32_t rank) {
  Random random(static_cast<std::uint64_t>(rank) + 1);
  const auto n = static_cast<std::size_t>(size);
  std::vector<float> out(n * n);
  for (std::size_t row = 0; row < n; ++row) {
    double sum = 0;
    for (std::size_t i = row * n; i < (row + 1) * n; ++i) {
      out[i] = static_cast<float>(random.uniform() + 1e-6);
      sum += out[i];
    }
    for (std::size_t i = row * n; i < (row + 1) * n; ++i) out[i] /= static_cast<float>(sum);
  }
  return out;
}

std::vector<float> shared_matrix(std::int32_t size) {
  Random random(0);
  std::vector<float> out(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  for (float& entry : out) entry = static_cast<float>(random.uniform());
  return out;
}

Outcome check_entries(std::span<const float> shared) {
  for (std::size_t i = 0; i < shared.size(); ++i)
    if (!(shared[i] >= -kTolerance && shared[i] <= 1 + kTolerance))
      return Outcome::fatal("entry " + std::to_string(i) + " of the shared matrix is " +
                            std::to_string(shared[i]) +
                            ", must be from 0 to 1: a device or a collective computed wrongly");
  return Outcome::done();
}

Digest digest_of(std::span<const float> shared) {
  Digest out{0, shared.front(), shared.front()};
  for (const float entry : shared) {
    out.mean += entry;
    out.low = std::min<double>(out.low, entry);
    out.high = std::max<double>(out.high, entry);
  }
  out.mean /= static_cast<double>(shared.size());
  return out;
}

}  // namespace orrery::worker
