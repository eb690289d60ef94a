#include "sim/results/allocation_book.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "core/base/invariant.hpp"

namespace orrery::sim {
namespace {

void append_number(std::uint32_t number, std::string& out) {
  char digits[12];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

AllocationBook::AllocationBook(std::span<const NodeGroup> groups) {
  std::uint32_t next = 0;
  for (const NodeGroup& group : groups)
    for (std::int32_t node = 0; node < group.count; ++node) {
      first_device_.push_back(next);
      next += static_cast<std::uint32_t>(group.devices);
    }
}

void AllocationBook::record(JobId job, std::span<const HeldDevices> held) {
  scratch_.clear();
  for (const HeldDevices& part : held) {
    invariant(part.node.index() < first_device_.size(), "devices are held on declared nodes");
    const std::uint32_t base = first_device_[part.node.index()];
    for (std::uint64_t left = part.devices; left != 0; left &= left - 1) {
      const std::uint32_t device = base + static_cast<std::uint32_t>(std::countr_zero(left));
      scratch_.push_back({device, device});
    }
  }
  std::ranges::sort(scratch_, {}, &Interval::first);
  std::size_t kept = 0;
  for (const Interval& next : scratch_) {
    if (kept > 0 && next.first <= scratch_[kept - 1].last + 1) {
      scratch_[kept - 1].last = std::max(scratch_[kept - 1].last, next.last);
    } else {
      scratch_[kept++] = next;
    }
  }
  scratch_.resize(kept);
  store(job);
}

void AllocationBook::store(JobId job) {
  invariant(scratch_.size() <= std::numeric_limits<std::uint16_t>::max(),
            "a job's devices form fewer than 65536 intervals");
  if (job.index() >= slots_.size()) slots_.resize(job.index() + 1);
  Slot& slot = slots_[job.index()];
  if (scratch_.size() > slot.room) {
    slot.begin = static_cast<std::uint32_t>(intervals_.size());
    slot.room = static_cast<std::uint16_t>(scratch_.size());
    intervals_.resize(intervals_.size() + scratch_.size());
  }
  slot.used = static_cast<std::uint16_t>(scratch_.size());
  std::ranges::copy(scratch_, intervals_.begin() + slot.begin);
}

void AllocationBook::append_set(JobId job, std::string& out) const {
  if (job.index() >= slots_.size()) return;
  const Slot& slot = slots_[job.index()];
  for (std::uint32_t i = 0; i < slot.used; ++i) {
    const Interval& interval = intervals_[slot.begin + i];
    if (i > 0) out += ' ';
    append_number(interval.first, out);
    if (interval.last == interval.first) continue;
    out += '-';
    append_number(interval.last, out);
  }
}

}  // namespace orrery::sim
