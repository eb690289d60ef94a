#include "sim/results/job_table.hpp"

#include <limits>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::sim {

std::string_view display_name(std::string_view full_name) {
  constexpr std::string_view kDefault = "default.";
  if (full_name.starts_with(kDefault)) full_name.remove_prefix(kDefault.size());
  return full_name;
}

void JobTable::add(JobId id, const JobFacts& facts) {
  invariant(!id.is_none() && id.index() >= rows_.size(),
            "jobs are added in the order of their ids");
  invariant(!facts.submitted.is_never(), "a job in the table was submitted at some time");
  const std::uint32_t labels = labels_number(facts);
  while (rows_.size() <= id.index()) rows_.emplace_back();
  name_end_.resize(id.index(), static_cast<std::uint32_t>(names_.size()));
  names_ += facts.name;
  invariant(names_.size() <= std::numeric_limits<std::uint32_t>::max(),
            "the names of all jobs together are shorter than 4 GB");
  name_end_.push_back(static_cast<std::uint32_t>(names_.size()));
  JobOutcome& row = rows_.back();
  row.submitted = facts.submitted;
  row.time_requested = facts.time_requested;
  row.devices_requested = facts.devices_requested;
  row.labels = labels;
  const std::int64_t thousandths = facts.thousandths_requested;
  if (thousandths > 0 && thousandths != std::int64_t{facts.devices_requested} * 1000)
    parts_requested_[static_cast<std::uint32_t>(id.index())] = thousandths;
}

std::string_view JobTable::name(JobId id) const {
  const std::size_t begin = id.index() == 0 ? 0 : name_end_[id.index() - 1];
  return std::string_view(names_).substr(begin, name_end_[id.index()] - begin);
}

std::uint32_t JobTable::labels_number(const JobFacts& facts) {
  const Labels labels{profile_number(facts.profile), owner_number(facts)};
  const auto next = static_cast<std::uint32_t>(labels_.size());
  const auto [known, is_new] = labels_numbers_.emplace(labels, next);
  if (is_new) labels_.push_back(labels);
  return known->second;
}

std::uint32_t JobTable::profile_number(std::string_view profile) {
  const auto known = profile_numbers_.find(profile);
  if (known != profile_numbers_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(profiles_.size());
  profiles_.emplace_back(profile);
  profile_numbers_.emplace(profile, number);
  return number;
}

std::uint32_t JobTable::owner_number(const JobFacts& facts) {
  if (last_owner_ < owners_.size() && owners_[last_owner_].name_space == facts.name_space &&
      owners_[last_owner_].group == facts.group)
    return last_owner_;
  JobOwner owner{std::string(facts.name_space), std::string(facts.group)};
  const auto next = static_cast<std::uint32_t>(owners_.size());
  const auto [known, is_new] = owner_numbers_.emplace(owner, next);
  if (is_new) owners_.push_back(std::move(owner));
  return last_owner_ = known->second;
}

}  // namespace orrery::sim
