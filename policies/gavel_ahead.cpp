// Rounds whose jobs are chosen before they begin.
#include <algorithm>
#include <utility>

#include "policies/changes.hpp"
#include "policies/gavel.hpp"
#include "policies/quotas.hpp"
#include "policies/rigid_size.hpp"

namespace orrery::policies {

/// Whether the next round begins in `choose_ahead` or less, and nobody is chosen for it yet. Where
/// the world's rounds are those of the artifact's simulator, a start in the middle of one would
/// make all others wait for it.
bool Gavel::may_choose_ahead(Instant now) const {
  if (!chooses_ahead() || is_chosen_ || epochs_end_rounds_) return false;
  const std::int64_t round = options_.rounds.round.ns;
  const std::int64_t next = (now.ns / round + 1) * round;
  return next - now.ns <= options_.choose_ahead.ns;
}

/// Takes down who runs in the next round. A job whose workers are on their way now keeps what it
/// has.
void Gavel::choose_ahead(const ClusterView& view) {
  count_time(view.now());
  find_devices(view);
  find_jobs(view);
  update_accounts(view, false);
  ahead_.clear();
  for (const RoundJob& each : jobs_) {
    if (each.key().is_pair() || each.may_run) continue;
    for (std::size_t type = 0; type < types_.size(); ++type)
      if (is_on(view, each.id, type))
        ahead_.push_back({each.key(), types_[type].model, each.devices});
  }
  for (const RoundChoice& each : accounts_.choose(jobs_, devices_, type_order()))
    ahead_.push_back({each.key(), types_[each.type].model, each.devices});
  is_chosen_ = true;
}

/// The number of `types_` where there is none of that model.
std::size_t Gavel::type_of(DeviceModelId model) const {
  const auto found = std::find_if(
      types_.begin(), types_.end(), [&](const Type& type) { return type.model == model; });
  return static_cast<std::size_t>(found - types_.begin());
}

/// Of those chosen ahead who still take part; of two, one of whom does not, the other. Nobody is
/// chosen ahead then.
std::vector<RoundChoice> Gavel::chosen_ahead(const ClusterView& view) {
  std::vector<RoundChoice> out;
  is_chosen_ = false;
  for (const Ahead& each : std::exchange(ahead_, {})) {
    const std::size_t type = type_of(each.model);
    if (type == types_.size()) continue;
    const auto may_run = [&](JobId id) {
      const std::size_t at = place_of(id);
      if (at == ids_.size() || ids_[at] != id) return false;
      return view.row(id).holds || jobs_[at].speed[type] > 0;
    };
    RoundKey key = each.key;
    if (key.is_pair() && !(may_run(key.job) && may_run(key.other) && pair_of(key) != nullptr))
      key = {may_run(key.job) ? key.job : key.other, JobId::none()};
    if (may_run(key.job)) out.push_back({key.job, type, key.other, each.devices});
  }
  return out;
}

/// Those chosen for the next round that wait start in this one where devices are free.
void Gavel::start_early(const ClusterView& view, Plan& plan) {
  const auto is_waiting = [&](const Ahead& each) {
    return !each.key.is_pair() && view.is_live(each.key.job) && waits(view.row(each.key.job));
  };
  std::vector<Ahead> waiting;
  std::copy_if(ahead_.begin(), ahead_.end(), std::back_inserter(waiting), is_waiting);
  if (waiting.empty()) return;
  std::stable_sort(waiting.begin(), waiting.end(), [](const Ahead& a, const Ahead& b) {
    return a.devices > b.devices;
  });
  find_kept(view);
  find_types(view);
  trial_.sync(view.capacity());
  for (const Ahead& each : waiting) {
    const std::size_t type = type_of(each.model);
    const JobView job = view.job(each.key.job);
    const std::int32_t devices = devices_at(job.row, size_of(job));
    if (type == types_.size() || !view.quota_allows(each.key.job, devices)) continue;
    if (!place_one(view, each.key.job, types_[type], plan)) continue;
    const double speed = speed_on(view.job(each.key.job), type);
    // It may have one of a plan that was lost, or from before it failed.
    std::erase_if(leases_, [&](const Lease& lease) { return lease.key == each.key; });
    leases_.push_back({each.key, type, lease_s(job, speed, view.now()), view.now()});
  }
}

}  // namespace orrery::policies
