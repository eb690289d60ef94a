#include "scenarios/language/spec/expectation.hpp"

namespace orrery::scenarios {

Expectation::Expectation() = default;
Expectation::Expectation(const Expectation& other) = default;
Expectation::Expectation(Expectation&& other) noexcept = default;
Expectation& Expectation::operator=(const Expectation& other) = default;
Expectation& Expectation::operator=(Expectation&& other) noexcept = default;
Expectation::~Expectation() = default;

}  // namespace orrery::scenarios
