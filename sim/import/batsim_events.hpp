// Batsim's files of external events: machines that go and come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "scenarios/language/spec/faults.hpp"
#include "sim/import/import_notes.hpp"
#include "sim/import/resource_set.hpp"

namespace orrery::sim {

/// Machines that go, or come back.
struct BatsimMachineEvent {
  Instant at;
  bool available = false;
  ResourceSet resources;  ///< At least one.
  int line = 0;
};

struct BatsimEvents {
  std::string file;
  std::vector<BatsimMachineEvent> events;  ///< By time, equal times in the order of the file.
  std::uint64_t lines = 0;                 ///< That hold an event.
  std::uint64_t passed_over = 0;           ///< Events that say nothing about machines.
};

/// Reads a file of one JSON object a line, `{"type":"generic","timestamp":t,"data":...}`. Where
/// `data` is an object, or a string that holds one, with `type` machine_unavailable or
/// machine_available and `resources`, it is about machines; so is an event whose own `type` is one
/// of these, as before v5. Everything else is passed over and counted. `text` is the whole file.
Result<BatsimEvents> parse_batsim_events(std::string_view text, const std::string& file);

/// The events as faults of nodes: down for ever, and up. Resource i is node i. Errors: resources
/// that `nodes` nodes do not have.
Result<std::vector<scenarios::Fault>> faults_of(const BatsimEvents& events, std::int64_t nodes);

}  // namespace orrery::sim
