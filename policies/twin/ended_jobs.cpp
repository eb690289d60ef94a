#include "policies/twin/ended_jobs.hpp"

#include <algorithm>

namespace orrery::policies {

void EndedJobs::end(const Known& known, Instant now) {
  // In two steps: service is in whole microseconds up to the last look, and from it on.
  const std::int64_t attained =
      known.attained_us + known.held * ((looked_at_ - known.as_of).ns / 1000);
  const std::int64_t served = attained + known.held * ((now - looked_at_).ns / 1000);
  if (served <= 0) return;
  ended_bytes_.clear();
  const EndedJob job{Duration{served / known.gang * 1000}, known.stated};
  if (ended_.size() < kKept) {
    ended_.push_back(job);
    return;
  }
  ended_[next_] = job;
  next_ = (next_ + 1) % kKept;
}

void EndedJobs::look_at(const ClusterView& view, JobId id) {
  const bool lives = view.is_live(id);
  if (!lives || !view.row(id).holds) {
    const auto known = known_.find(id);
    if (known == known_.end()) return;
    if (!lives) end(known->second, view.now());
    known_.erase(known);
    known_bytes_.clear();
    return;
  }
  const JobRow& row = view.row(id);
  const bool states = row.estimate_source != EstimateSource::None && !row.estimate.is_forever();
  const Known now{row.attained_us,
                  row.attained_as_of,
                  row.devices_held,
                  std::max(1, row.gang_devices()),
                  states ? row.estimate : Duration::zero()};
  const auto [known, is_new] = known_.try_emplace(id, now);
  if (!is_new && known->second == now) return;
  known->second = now;
  known_bytes_.clear();
}

void EndedJobs::pass(const ClusterView& view) {
  passed_complete_ = passed_complete_ && view.touched_complete();
  if (passed_complete_)
    passed_.insert(passed_.end(), view.touched().begin(), view.touched().end());
  else
    passed_.clear();
}

void EndedJobs::look(const ClusterView& view) {
  pass(view);
  if (!passed_complete_) {
    for (const auto& [id, known] : known_) passed_.push_back(id);
    passed_.insert(passed_.end(), view.holding().begin(), view.holding().end());
  }
  // Those that ended, in the order of their ids.
  std::ranges::sort(passed_);
  passed_.erase(std::unique(passed_.begin(), passed_.end()), passed_.end());
  for (const JobId id : passed_) look_at(view, id);
  passed_.clear();
  passed_complete_ = true;
  looked_at_ = view.now();
}

void EndedJobs::save(ByteWriter& out) const {
  if (known_bytes_.size() == 0) {
    known_bytes_.varint(known_.size());
    for (const auto& [id, known] : known_) {
      known_bytes_.u32(id.value);
      known_bytes_.signed_varint(known.attained_us);
      known_bytes_.signed_varint(known.as_of.ns);
      known_bytes_.signed_varint(known.held);
      known_bytes_.signed_varint(known.gang);
      known_bytes_.signed_varint(known.stated.ns);
    }
  }
  if (ended_bytes_.size() == 0) {
    ended_bytes_.varint(next_);
    ended_bytes_.varint(ended_.size());
    for (const EndedJob& job : ended_) {
      ended_bytes_.signed_varint(job.ran.ns);
      ended_bytes_.signed_varint(job.stated.ns);
    }
  }
  out.signed_varint(looked_at_.ns);
  out.raw(known_bytes_.bytes());
  out.raw(ended_bytes_.bytes());
}

void EndedJobs::load(ByteReader& in) {
  looked_at_ = Instant{in.signed_varint()};
  known_.clear();
  for (std::uint64_t n = in.varint(); in.ok() && n > 0; --n) {
    const JobId id{in.u32()};
    Known& known = known_[id];
    known.attained_us = in.signed_varint();
    known.as_of = Instant{in.signed_varint()};
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
  passed_.clear();
  passed_complete_ = true;
  known_bytes_.clear();
  ended_bytes_.clear();
}

}  // namespace orrery::policies
