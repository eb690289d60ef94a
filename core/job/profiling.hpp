// What the workers of a job have measured, as far as it is kept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace orrery {

/// One measured value.
struct ProfilingSample {
  Instant at;
  Generation generation;
  Rank rank;
  double value = 0;

  friend bool operator==(const ProfilingSample&, const ProfilingSample&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("at", self.at);
    v.field("generation", self.generation);
    v.field("rank", self.rank);
    v.field("value", self.value);
  }
};

/// The bounded history of one key, oldest first.
struct ProfilingSeries {
  static constexpr std::size_t kSamplesMax = 16;  ///< Or one per worker where those are more.

  std::string key;
  std::vector<ProfilingSample> samples;

  friend bool operator==(const ProfilingSeries&, const ProfilingSeries&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("key", self.key);
    v.field("samples", self.samples);
  }
};

}  // namespace orrery
