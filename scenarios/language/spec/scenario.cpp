#include "scenarios/language/spec/scenario.hpp"

namespace orrery::scenarios {

ScenarioJob::ScenarioJob() = default;
ScenarioJob::ScenarioJob(const ScenarioJob& other) = default;
ScenarioJob::ScenarioJob(ScenarioJob&& other) noexcept = default;
ScenarioJob& ScenarioJob::operator=(const ScenarioJob& other) = default;
ScenarioJob& ScenarioJob::operator=(ScenarioJob&& other) noexcept = default;
ScenarioJob::~ScenarioJob() = default;

Scenario::Scenario() = default;
Scenario::Scenario(const Scenario& other) = default;
Scenario::Scenario(Scenario&& other) noexcept = default;
Scenario& Scenario::operator=(const Scenario& other) = default;
Scenario& Scenario::operator=(Scenario&& other) noexcept = default;
Scenario::~Scenario() = default;

}  // namespace orrery::scenarios
