// Pinned storms: the decisions of some seeds as a golden file. A change of any decision, order,
// notice or text within their reach is seen, whether it breaks a rule or not; one that is meant is
// blessed, as every golden file is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "scenarios/language/spec/scenario.hpp"
#include "sim/storm/decisions.hpp"
#include "sim/storm/violation.hpp"

namespace orrery::sim {

/// One seed. Under older rules (`Settings::rules`) it shows what they decide.
struct Pin {
  std::uint64_t seed = 0;
  std::uint16_t rules = 0;
  DecisionDigests digests{};

  friend bool operator==(const Pin&, const Pin&) = default;
};

/// The golden file. It names the policies and the placers that its storms are drawn with, so that a
/// new one in a registry changes none of them.
struct Pins {
  std::vector<std::string> policies;
  std::vector<std::string> placers;  ///< Versioned names.
  std::vector<Pin> seeds;            ///< Ascending and without gaps; at least one.

  const Pin* find(std::uint64_t seed) const;
};

/// Reads the file's text. Errors name `file` and the line.
Result<Pins> read_pins(std::string_view text, const std::string& file);

std::string text_of(const Pins& pins);

/// The storm of a pin. Errors: `policies` lacks one that the file names.
Result<scenarios::Scenario> plan_pinned(const Pins& pins,
                                        const Pin& pin,
                                        std::span<const scenarios::PolicyChoice> policies);

/// What differs: "orders and statuses are not as pinned ..."; empty: nothing does.
std::string pin_difference(const Pin& pin, const DecisionDigests& digests);

}  // namespace orrery::sim
