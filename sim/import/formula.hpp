// Formulas of performance models, such as "flops / num_nodes^alpha".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace orrery::sim {

/// Values by name.
using FormulaValues = std::map<std::string, double, std::less<>>;

/// Longest formula in bytes, and deepest nesting.
inline constexpr std::size_t kFormulaLengthMax = 4096;
inline constexpr int kFormulaDepthMax = 64;

/// The value of a formula. By falling precedence: numbers, names of `values`, pi, calls,
/// parentheses; `^` (from the right); unary `-`, `+`, `not`, `!`; `*`, `/`, `%` (remainder with the
/// sign of the left side); `+`, `-`; comparisons `<`, `<=`, `>`, `>=`, `==`, `=`, `!=`, `<>` (1 or
/// 0); `and`, `&&`, `&`; `or`, `||`, `|`; `a ? b : c`. Functions: min, max, sum, avg of any number,
/// abs, ceil, floor, round (halves away from 0), trunc, sqrt, exp, log, log2, log10, sgn, pow(x,
/// y), mod(x, y), clamp(low, x, high), if(condition, then, else). Equal on every machine.
///
/// Errors (subject and message only): what cannot be read and where, names that have no value, a
/// value that is not finite.
Result<double> evaluate_formula(std::string_view text, const FormulaValues& values);

}  // namespace orrery::sim
