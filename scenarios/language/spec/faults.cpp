#include "scenarios/language/spec/faults.hpp"

namespace orrery::scenarios {

Fault::Fault() = default;
Fault::Fault(const Fault& other) = default;
Fault::Fault(Fault&& other) noexcept = default;
Fault& Fault::operator=(const Fault& other) = default;
Fault& Fault::operator=(Fault&& other) noexcept = default;
Fault::~Fault() = default;

}  // namespace orrery::scenarios
