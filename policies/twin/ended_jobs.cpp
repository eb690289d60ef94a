#include "policies/twin/ended_jobs.hpp"

#include <algorithm>

namespace orrery::policies {

void EndedJobs::end(const Known& known, Instant now) {
  const std::int64_t served = known.attained_us + known.held * ((now - known.at).ns / 1000);
  if (served <= 0) return;
  const EndedJob job{Duration{served / known.gang * 1000}, known.stated};
  if (ended_.size() < kKept) {
    ended_.push_back(job);
    return;
  }
  ended_[next_] = job;
  next_ = (next_ + 1) % kKept;
}

void EndedJobs::look(const ClusterView& view) {
  const Instant now = view.now();
  std::erase_if(known_, [&](const auto& entry) {
    if (!view.is_live(entry.first)) end(entry.second, now);
    return !view.is_live(entry.first) || !view.row(entry.first).holds;
  });
  for (const JobId id : view.holding()) {
    const JobRow& row = view.row(id);
    const bool states = row.estimate_source != EstimateSource::None && !row.estimate.is_forever();
    known_[id] = {row.attained_device_us(now),
                  now,
                  row.devices_held,
                  std::max(1, row.gang_devices()),
                  states ? row.estimate : Duration::zero()};
  }
}

void EndedJobs::save(ByteWriter& out) const {
  out.varint(known_.size());
  for (const auto& [id, known] : known_) {
    out.u32(id.value);
    out.signed_varint(known.attained_us);
    out.signed_varint(known.at.ns);
    out.signed_varint(known.held);
    out.signed_varint(known.gang);
    out.signed_varint(known.stated.ns);
  }
  out.varint(next_);
  out.varint(ended_.size());
  for (const EndedJob& job : ended_) {
    out.signed_varint(job.ran.ns);
    out.signed_varint(job.stated.ns);
  }
}

void EndedJobs::load(ByteReader& in) {
  known_.clear();
  for (std::uint64_t n = in.varint(); in.ok() && n > 0; --n) {
    const JobId id{in.u32()};
    Known& known = known_[id];
    known.attained_us = in.signed_varint();
    known.at = Instant{in.signed_varint()};
    known.held = static_cast<std::int32_t>(in.signed_varint());
    known.gang = std::max(1, static_cast<std::int32_t>(in.signed_varint()));
    known.stated = Duration{in.signed_varint()};
  }
  next_ = static_cast<std::size_t>(in.varint()) % kKept;
  ended_.clear();
  for (std::uint64_t n = in.varint(); in.ok() && n > 0 && ended_.size() < kKept; --n) {
    const Duration ran{in.signed_varint()};
    ended_.push_back({ran, Duration{in.signed_varint()}});
  }
}

}  // namespace orrery::policies
