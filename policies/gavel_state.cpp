// What a policy of the Gavel family remembers.
#include "policies/gavel.hpp"

namespace orrery::policies {

void Gavel::save(ByteWriter& out) const {
  accounts_.save(out);
  for (const std::uint64_t word : random_.state()) out.u64(word);
  out.i64(round_start_.ns);
  out.boolean(epochs_end_rounds_);
  out.varint(leases_.size());
  for (const Lease& each : leases_) {
    out.u32(each.key.job.value);
    out.u32(each.key.other.value);
    out.varint(each.type);
    out.f64(each.seconds);
    if (!chooses_ahead()) continue;
    out.i64(each.since.ns);
    out.f64(each.counted_s);
  }
  if (chooses_ahead()) {
    out.boolean(is_chosen_);
    out.varint(ahead_.size());
    for (const Ahead& each : ahead_) {
      out.u32(each.key.job.value);
      out.u32(each.key.other.value);
      out.u16(each.model.value);
      out.f64(each.devices);
    }
  }
  out.varint(together_.size());
  for (const auto& [first, second] : together_) {
    out.u32(first.value);
    out.u32(second.value);
  }
  out.varint(isolated_.size());
  for (const auto& [job, alone] : isolated_) {
    out.u32(job.value);
    out.f64(alone.seconds);
    out.f64(alone.left);
    out.f64(alone.speed);
  }
}

void Gavel::load(ByteReader& in) {
  only_sharers_ = false;
  has_read_ = false;
  accounts_.load(in);
  Random::State words{};
  for (std::uint64_t& word : words) word = in.u64();
  if (in.ok()) random_ = Random::from_state(words);
  round_start_.ns = in.i64();
  epochs_end_rounds_ = in.boolean();
  leases_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const JobId job{in.u32()};
    const JobId other{in.u32()};
    const auto type = static_cast<std::size_t>(in.varint());
    Lease& lease = leases_.emplace_back(Lease{{job, other}, type, in.f64(), round_start_});
    if (!chooses_ahead()) continue;
    lease.since.ns = in.i64();
    lease.counted_s = in.f64();
  }
  ahead_.clear();
  is_chosen_ = chooses_ahead() && in.boolean();
  for (std::uint64_t left = chooses_ahead() ? in.varint() : 0; left > 0 && in.ok(); --left) {
    const JobId job{in.u32()};
    const JobId other{in.u32()};
    const DeviceModelId model{in.u16()};
    ahead_.push_back({{job, other}, model, in.f64()});
  }
  together_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const JobId first{in.u32()};
    together_.emplace_back(first, JobId{in.u32()});
  }
  isolated_.clear();
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    Isolated& alone = isolated_[JobId{in.u32()}];
    alone.seconds = in.f64();
    alone.left = in.f64();
    alone.speed = in.f64();
  }
}

}  // namespace orrery::policies
