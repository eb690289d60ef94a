#include <string>

#include "sim/simgrid/message_level.hpp"

namespace orrery::sim {
namespace {

using scenarios::FaultKind;

// A link with less bandwidth is one of the platform.
bool is_of_messages(FaultKind kind) {
  return Network::is_of_network(kind) && kind != FaultKind::Bandwidth;
}

Error refusal(const scenarios::Scenario& scenario,
              int line,
              std::string subject,
              std::string what) {
  return Error{.file = scenario.file,
               .line = line,
               .subject = std::move(subject),
               .message = std::move(what) +
                          " found, needed no faults of messages: at fidelity L3 SimGrid carries "
                          "them, and loses none; use --world model"};
}

}  // namespace

Errors refused_at_message_level(const scenarios::Scenario& scenario) {
  Errors errors;
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    const scenarios::Fault& fault = scenario.faults[i];
    if (is_of_messages(fault.kind))
      errors.push_back(refusal(scenario,
                               fault.line,
                               "faults[" + std::to_string(i) + "].kind",
                               std::string(to_string(fault.kind))));
  }
  for (std::size_t i = 0; i < scenario.fault_processes.size(); ++i)
    if (scenario.fault_processes[i].of == scenarios::ProcessSubject::Link)
      errors.push_back(
          refusal(scenario, 0, "fault_processes[" + std::to_string(i) + "].of", "link"));
  if (scenario.failures.llama3)
    errors.push_back(refusal(scenario, 0, "failures.llama3", "cuts of links among its failures"));
  return errors;
}

}  // namespace orrery::sim
