#include "sim/reports/machine_states.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <ostream>
#include <string>

#include "sim/reports/csv_text.hpp"
#include "sim/results/time_text.hpp"

namespace orrery::sim {
namespace {

void append_state_number(double number, std::string& out) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

void write_machine_states(std::ostream& out, const Timeline& timeline) {
  std::string text = "time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing\n";
  const auto& computing = timeline.computing().points();
  const auto& unavailable = timeline.unavailable().points();
  const auto devices = static_cast<double>(timeline.devices_total());
  double busy = 0;
  double out_of_use = 0;
  for (std::size_t c = 0, u = 0; c < computing.size() || u < unavailable.size();) {
    Instant at = Instant::never();
    if (c < computing.size()) at = computing[c].at;
    if (u < unavailable.size()) at = std::min(at, unavailable[u].at);
    if (c < computing.size() && computing[c].at == at) busy = computing[c++].value;
    if (u < unavailable.size() && unavailable[u].at == at) out_of_use = unavailable[u++].value;
    append_seconds_6(at.ns, text);
    text += ",0,0,0,";
    append_state_number(std::max(devices - busy - out_of_use, 0.0), text);
    text += ',';
    append_state_number(busy, text);
    text += '\n';
    if (text.size() < kCsvFlushBytes) continue;
    out << text;
    text.clear();
  }
  out << text;
}

}  // namespace orrery::sim
