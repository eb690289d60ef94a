#include "policies/misfits.hpp"

#include <algorithm>

#include "policies/rigid_size.hpp"

namespace orrery::policies {
namespace {

/// So many shapes are remembered at most; a job of several roles is a shape of its own.
constexpr std::size_t kShapesMost = 10'000;

}  // namespace

void Misfits::forget() {
  shapes_.clear();
  of_job_.clear();
}

void Misfits::follow(const ClusterView& view) {
  if (!view.touched_complete() || shapes_.size() > kShapesMost) forget();
  for (const JobId id : view.touched())
    if (id.index() < of_job_.size()) of_job_[id.index()] = 0;
}

void Misfits::begin() {
  limits_.clear();
  found_.clear();
  failed_.clear();
}

std::uint32_t Misfits::look_up(const ClusterView& view, JobId id) {
  const JobView job = view.job(id);
  const auto number = static_cast<std::uint32_t>(shapes_.size() + 1);
  const GangShape own =
      shape_of(view, job, sizes_ == Sizes::Rigid ? rigid_size(job) : job.row.min_replicas);
  if (of_job_.size() <= id.index()) of_job_.resize(id.index() + 1);
  return of_job_[id.index()] = shapes_.emplace(own, number).first->second;
}

void Misfits::note_chosen(const ClusterView& view, JobId id, DeviceModelId kind) {
  if (limits_.empty()) return;
  const auto limit = limits_.find({shape(view, id), kind});
  if (limit != limits_.end()) ++limit->second.chosen;
}

void Misfits::note_placed(const ClusterView& view, JobId id, bool found_place, DeviceModelId kind) {
  (found_place ? found_ : failed_).emplace_back(shape(view, id), kind);
}

bool Misfits::choose_again() {
  std::sort(failed_.begin(), failed_.end());
  for (const Key& key : failed_) limits_[key] = {};
  for (const Key& key : found_)
    if (std::binary_search(failed_.begin(), failed_.end(), key)) ++limits_[key].most;
  for (auto& [key, limit] : limits_) limit.chosen = 0;
  const bool again = !failed_.empty();
  found_.clear();
  failed_.clear();
  return again;
}

}  // namespace orrery::policies
