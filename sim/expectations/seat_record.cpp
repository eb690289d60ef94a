#include "sim/expectations/seat_record.hpp"

#include <algorithm>
#include <utility>

namespace orrery::sim {
namespace {

using scenarios::Expectation;
using scenarios::ExpectedSeat;

std::string bits_text(std::uint64_t bits) {
  std::string text;
  for (int i = 0; i < 64; ++i)
    if ((bits >> i & 1) != 0) text += (text.empty() ? "" : ",") + std::to_string(i);
  return text.empty() ? "none" : text;
}

}  // namespace

void SeatRecord::note(Instant at, const JobState& job) {
  std::vector<WorkerSeat> seats;
  for (const Worker& worker : job.workers)
    if (!worker.lease.is_none())
      seats.push_back(
          {worker.role, worker.local_rank, worker.node, worker.devices, worker.hardware});
  if (!sittings_.empty() && sittings_.back().seats == seats) return;
  sittings_.push_back({at, std::move(seats)});
}

const SeatRecord::WorkerSeat* SeatRecord::find(const Sitting& sitting,
                                               const scenarios::WorkerName& worker) {
  const auto found =
      std::find_if(sitting.seats.begin(), sitting.seats.end(), [&](const WorkerSeat& seat) {
        return seat.role == worker.role && seat.local_rank == worker.local_rank;
      });
  return found == sitting.seats.end() ? nullptr : &*found;
}

bool SeatRecord::meets(const Sitting& sitting, const Expectation& expected) {
  return std::all_of(expected.sits.begin(), expected.sits.end(), [&](const ExpectedSeat& wanted) {
    const WorkerSeat* seat = find(sitting, wanted.worker);
    return seat != nullptr && seat->node == wanted.node &&
           wanted.devices.value_or(seat->devices) == seat->devices &&
           wanted.hardware.value_or(seat->hardware) == seat->hardware;
  });
}

SeatRecord::Sitting SeatRecord::last_of_each(const Expectation& expected) const {
  Sitting last;
  for (const ExpectedSeat& wanted : expected.sits)
    for (auto sitting = sittings_.rbegin(); sitting != sittings_.rend(); ++sitting)
      if (const WorkerSeat* seat = find(*sitting, wanted.worker)) {
        last.seats.push_back(*seat);
        break;
      }
  return last;
}

std::string SeatRecord::text_of(const Sitting& sitting, const Expectation& expected) {
  std::string text;
  for (const ExpectedSeat& wanted : expected.sits) {
    text += (text.empty() ? "" : ", ") + wanted.worker.text + " ";
    const WorkerSeat* seat = find(sitting, wanted.worker);
    if (seat == nullptr) {
      text += "nowhere";
      continue;
    }
    text += "on node " + std::to_string(seat->node.value);
    if (wanted.devices) text += " devices " + bits_text(seat->devices);
    if (wanted.hardware) text += " hardware " + bits_text(seat->hardware);
  }
  return text;
}

std::string SeatRecord::finding(const Expectation& expected) const {
  if (expected.sits.empty()) return "";
  Sitting found = last_of_each(expected);
  if (!expected.by.is_never()) {
    found.seats.clear();
    for (std::size_t i = 0; i < sittings_.size(); ++i) {
      const bool before = i + 1 < sittings_.size() && sittings_[i + 1].from < expected.after;
      if (before || sittings_[i].from > expected.by) continue;
      found = sittings_[i];
      if (meets(found, expected)) break;
    }
  }
  if (meets(found, expected)) return "";
  return "it sat with " + text_of(found, expected) + ", expected other seats";
}

}  // namespace orrery::sim
