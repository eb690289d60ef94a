// Two policies over the same seeds: how they differ, and whether that may be chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/statistics/bootstrap.hpp"

namespace orrery::sim {

/// Differences of as many seeds are tested exactly; beyond, by as many random signs as below.
inline constexpr std::size_t kExactSignsMax = 20;
inline constexpr std::size_t kRandomSigns = 99'999;

/// The probability of a mean as far from zero as that of `differences`, or farther, if each of them
/// had either sign with equal probability (that is, if the two policies were exchangeable for each
/// seed): the two-sided sign-flip permutation test of Fisher, "The Design of Experiments" (1935),
/// section 21. Exact, over all 2^n signs, up to `kExactSignsMax`; beyond, (hits + 1) / (draws + 1)
/// with fixed draws (Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology
/// 9(1), 2010). 1 of no differences and where all are zero.
double sign_flip_p(std::span<const double> differences);

/// The smallest value that it can have for so many seeds, at least 1: 2^(1 - n).
double smallest_p(std::size_t seeds);

/// `p` of several tests, adjusted so that 0.05 is the probability of any error among them: Holm, "A
/// Simple Sequentially Rejective Multiple Test Procedure" (Scandinavian Journal of Statistics 6(2),
/// 1979). In the order of `p`, each at most 1.
std::vector<double> holm(std::span<const double> p);

/// A figure of one policy less that of another, seed by seed.
struct PairedDifference {
  SeedEstimate difference;
  double p = 1;       ///< See `sign_flip_p`.
  double p_holm = 1;  ///< Adjusted for all pairs of policies; set by the caller.
};

/// Of values at equal places; both are equally long.
PairedDifference paired_difference(std::span<const double> values, std::span<const double> against);

/// How differences are tested, in words for readers.
inline constexpr std::string_view kTestMethod =
    "p: two-sided sign-flip test of the paired differences, exact up to 20 seeds; Holm: adjusted "
    "for all pairs of policies";

}  // namespace orrery::sim
