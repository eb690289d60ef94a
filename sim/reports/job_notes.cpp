#include "sim/reports/job_notes.hpp"

namespace orrery::sim {

void JobNotes::add(JobId id, const JobSpec& spec) {
  std::vector<std::int32_t> shape;
  for (const RoleSpec& role : spec.roles) {
    const auto [known, is_new] =
        role_numbers_.try_emplace(role.name, static_cast<std::int32_t>(role_names_.size()));
    if (is_new) role_names_.push_back(role.name);
    shape.push_back(known->second);
  }
  const auto [number, is_new] =
      shape_numbers_.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
  if (is_new) shapes_.push_back(std::move(shape));
  if (id.index() >= notes_.size()) notes_.resize(id.index() + 1);
  notes_[id.index()] = {spec.priority, number->second, true};
}

std::int32_t JobNotes::role(JobId id, RoleIndex role) const {
  if (role.is_none() || id.index() >= notes_.size() || !notes_[id.index()].known) return -1;
  const std::vector<std::int32_t>& shape = shapes_[notes_[id.index()].shape];
  return role.index() < shape.size() ? shape[role.index()] : -1;
}

}  // namespace orrery::sim
