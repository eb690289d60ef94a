// The solver where its library is not there: policies ask `is_available` when they are made.
#include "core/base/invariant.hpp"
#include "policies/solver/program.hpp"

namespace orrery::solver {

bool is_available() { return false; }

std::string_view library() { return {}; }

Solution solve(const Program& /*program*/, const Limits& /*limits*/) {
  invariant(false, "a program is solved only where the solver's library is available");
  return {};
}

}  // namespace orrery::solver
