// The pairs of jobs that Gavel puts on the same devices: which there are, and how fast they are.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "policies/gavel.hpp"
#include "policies/rigid_size.hpp"

namespace orrery::policies {
namespace {

/// A pair whose speeds on all types, each as part of the speed alone, sum to less does badly.
constexpr double kGoodSum = 1;

}  // namespace

/// Whether the job may be in a pair: all its devices are whole and of one role, and it can be moved
/// away from them again.
bool Gavel::may_share(const ClusterView& view, std::size_t i) const {
  const JobView job = view.job(ids_[i]);
  const bool runs_somewhere = std::any_of(
      jobs_[i].speed.begin(), jobs_[i].speed.end(), [](double speed) { return speed > 0; });
  return runs_somewhere && job.spec.roles.size() == 1 && job.row.demand.devices > 0 &&
         job.row.demand.share.is_whole() && !job.row.is_fixed() && !view.is_seated(job.row.id);
}

/// Places in `ids_`.
std::vector<std::size_t> Gavel::find_sharers(const ClusterView& view) const {
  std::vector<std::size_t> sharers;
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (may_share(view, i)) sharers.push_back(i);
  return sharers;
}

bool Gavel::are_equal(const ClusterView& view, JobId a, JobId b) const {
  return size_of(view.job(a)) == size_of(view.job(b)) &&
         view.row(a).demand.devices == view.row(b).demand.devices;
}

/// Every pair that gains, or those that gain most.
void Gavel::find_all_pairs(const ClusterView& view, const std::vector<std::size_t>& sharers) {
  for (std::size_t a = 0; a < sharers.size(); ++a)
    for (std::size_t b = a + 1; b < sharers.size(); ++b) {
      const JobId first = ids_[sharers[a]];
      const JobId second = ids_[sharers[b]];
      if (!are_equal(view, first, second)) continue;
      const PairSpeeds& speeds = known_pair(view, first, second);
      if (speeds.gain > 0) pairs_.push_back({sharers[a], sharers[b], speeds});
    }
  if (pairs_.size() <= options_.pairs_most) return;
  std::stable_sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) {
    return a.speeds.gain > b.speeds.gain;
  });
  pairs_.resize(options_.pairs_most);
  std::sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  });
}

/// Those that were drawn and are both still there.
void Gavel::keep_pairs(const ClusterView& view, const std::vector<std::size_t>& sharers) {
  const auto is_there = [&](JobId id) {
    const std::size_t place = place_of(id);
    return place < ids_.size() && ids_[place] == id &&
           std::binary_search(sharers.begin(), sharers.end(), place);
  };
  std::erase_if(together_, [&](const auto& pair) {
    return !is_there(pair.first) || !is_there(pair.second) ||
           !are_equal(view, pair.first, pair.second);
  });
  for (const auto& [first, second] : together_)
    pairs_.push_back({place_of(first), place_of(second), known_pair(view, first, second)});
}

/// Where not all jobs have devices, those that are in no pair are drawn two by two; a draw of two
/// that differ in size, or of whom nothing is known, is lost. Pairs that do badly part first. That
/// two do not fit together is only found out by trying: they are a pair until shares are computed
/// next, hold no devices as such, and each by itself gets what others leave.
void Gavel::draw_pairs(const ClusterView& view) {
  double wanted = 0;
  double devices = 0;
  for (std::size_t i = 0; i < ids_.size(); ++i) wanted += jobs_[i].devices;
  for (const double each : devices_) devices += each;
  if (wanted <= devices) return together_.clear();
  std::erase_if(together_, [&](const auto& pair) {
    return known_pair(view, pair.first, pair.second).sum < kGoodSum;
  });
  std::vector<JobId> single;
  for (const std::size_t i : find_sharers(view)) {
    const auto has = [&](const auto& pair) {
      return pair.first == ids_[i] || pair.second == ids_[i];
    };
    if (std::none_of(together_.begin(), together_.end(), has)) single.push_back(ids_[i]);
  }
  for (std::size_t left = single.size(); left > 0 && single.size() > 1; --left) {
    const auto a = static_cast<std::size_t>(random_.below(single.size()));
    auto b = static_cast<std::size_t>(random_.below(single.size() - 1));
    if (b >= a) ++b;
    const std::pair<JobId, JobId> both = std::minmax(single[a], single[b]);
    if (!are_equal(view, both.first, both.second)) continue;
    if (!known_pair(view, both.first, both.second).may_be_tried) continue;
    together_.push_back(both);
    single.erase(single.begin() + static_cast<std::ptrdiff_t>(std::max(a, b)));
    single.erase(single.begin() + static_cast<std::ptrdiff_t>(std::min(a, b)));
  }
  std::sort(together_.begin(), together_.end());
}

/// It parts when shares are computed next, also where nobody comes or goes: jobs that have no share
/// of their own and fit together nowhere would wait for as long as the others run.
bool Gavel::has_bad_pair(const ClusterView& view) {
  return std::any_of(together_.begin(), together_.end(), [&](const auto& pair) {
    return known_pair(view, pair.first, pair.second).sum < kGoodSum;
  });
}

/// Rows of pairs, after those of single jobs; they run where nodes hold each of the two.
void Gavel::find_pairs(const ClusterView& view) {
  pairs_.clear();
  jobs_.resize(ids_.size());
  const std::vector<std::size_t> sharers = find_sharers(view);
  if (options_.rule == SharingRule::Gandiva)
    keep_pairs(view, sharers);
  else
    find_all_pairs(view, sharers);
  for (Pair& pair : pairs_) {
    const RoundJob& first = jobs_[pair.first];
    const RoundJob& second = jobs_[pair.second];
    for (std::size_t type = 0; type < types_.size(); ++type)
      if (first.speed[type] <= 0 || second.speed[type] <= 0)
        pair.speeds.first[type] = pair.speeds.second[type] = 0;
    RoundJob both;
    both.id = first.id;
    both.other = second.id;
    both.devices = first.devices;
    both.priority = std::min(first.priority, second.priority);
    both.may_run = first.may_run && second.may_run;
    both.speed = pair.speeds.first;
    jobs_.push_back(std::move(both));
  }
}

void Gavel::forget_speeds() {
  known_.clear();
  known_at_ = known_.end();
  known_pairs_.clear();
}

const Gavel::PairSpeeds& Gavel::known_pair(const ClusterView& view, JobId first, JobId second) {
  const std::pair<JobId, JobId> both(first, second);
  const auto found = known_pairs_.find(both);
  if (found != known_pairs_.end()) return found->second;
  return known_pairs_.emplace(both, pair_speeds(view, first, second)).first->second;
}

/// With packing: on a type where the two together do no more than they would in turn they are not
/// put together.
Gavel::PairSpeeds Gavel::pair_speeds(const ClusterView& view, JobId first, JobId second) {
  const KnownSpeeds& a = known(view.job(first));
  const KnownSpeeds& b = known(view.job(second));
  constexpr double kRounding = 1e-9;
  PairSpeeds out;
  bool fits_everywhere = true;
  out.first.assign(types_.size(), 0);
  out.second.assign(types_.size(), 0);
  for (std::size_t j = 0; j < types_.size(); ++j) {
    if (a.on_type[j] <= 0 || b.on_type[j] <= 0) continue;
    std::optional<std::pair<double, double>> speeds;
    if (a.in_table && b.in_table)
      speeds = options_.speeds->beside(types_[j].name, a.kind, b.kind, a.devices);
    out.may_be_tried = out.may_be_tried || speeds || options_.beside > 0;
    if (!speeds) speeds = {a.on_type[j] * options_.beside, b.on_type[j] * options_.beside};
    const bool fits = speeds->first > 0 && speeds->second > 0;
    fits_everywhere = fits_everywhere && fits;
    if (!fits) continue;
    const double gain = speeds->first / a.on_type[j] + speeds->second / b.on_type[j] - 1;
    out.sum += gain + 1;
    if (options_.rule == SharingRule::MaxMinPacked && gain <= kRounding) continue;
    out.first[j] = speeds->first;
    out.second[j] = speeds->second;
    out.gain = std::max(out.gain, gain);
  }
  if (!fits_everywhere) out.sum = 0;
  return out;
}

}  // namespace orrery::policies
