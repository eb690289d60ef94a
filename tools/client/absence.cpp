#include "tools/client/absence.hpp"

namespace orrery::cli {
namespace {

constexpr std::chrono::seconds kAbsenceMax{60};

}  // namespace

void Absence::goes_on(const Errors& errors) {
  const auto now = std::chrono::steady_clock::now();
  if (!since_) {
    since_ = now;
    session_.console().err("the controller does not answer; waiting for it\n");
  } else if (now - *since_ > kAbsenceMax) {
    session_.console().errors(errors);
    session_.note(ExitCode::Unreachable);
  }
}

}  // namespace orrery::cli
