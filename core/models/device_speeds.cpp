#include "core/models/device_speeds.hpp"

#include <algorithm>

namespace orrery {

std::optional<double> DeviceSpeeds::steps_per_second(std::string_view model,
                                                     std::string_view kind,
                                                     int devices) const {
  const auto table = models_.find(model);
  if (table == models_.end()) return std::nullopt;
  const auto entry = table->second.alone.find(Before::Key(kind, devices));
  if (entry == table->second.alone.end() || entry->second <= 0) return std::nullopt;
  return entry->second;
}

std::optional<std::pair<double, double>> DeviceSpeeds::beside(std::string_view model,
                                                              std::string_view kind,
                                                              std::string_view other,
                                                              int devices) const {
  const auto table = models_.find(model);
  const auto mine = numbers_.find(kind);
  const auto theirs = numbers_.find(other);
  if (table == models_.end() || mine == numbers_.end() || theirs == numbers_.end())
    return std::nullopt;
  const auto [first, second] = std::minmax(mine->second, theirs->second);
  const auto entry = table->second.beside.find(Pair{first, second, devices});
  if (entry == table->second.beside.end()) return std::nullopt;
  if (mine->second == first) return entry->second;
  return std::pair(entry->second.second, entry->second.first);
}

void DeviceSpeeds::add_beside(const std::string& model,
                              const std::string& kind,
                              const std::string& other,
                              int devices,
                              double steps_per_second,
                              double others) {
  const auto number_of = [&](const std::string& name) {
    return numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
  };
  const std::uint32_t mine = number_of(kind);
  const std::uint32_t theirs = number_of(other);
  const bool in_order = mine <= theirs;
  models_[model].beside[Pair{std::min(mine, theirs), std::max(mine, theirs), devices}] =
      in_order ? std::pair(steps_per_second, others) : std::pair(others, steps_per_second);
}

bool DeviceSpeeds::has_kind(std::string_view kind) const {
  return std::any_of(models_.begin(), models_.end(), [&](const auto& model) {
    const auto entry = model.second.alone.lower_bound(Before::Key(kind, 0));
    return entry != model.second.alone.end() && entry->first.kind == kind;
  });
}

std::map<std::string, std::size_t> DeviceSpeeds::sizes() const {
  std::map<std::string, std::size_t> out;
  for (const auto& [model, jobs] : models_) out[model] = jobs.alone.size();
  return out;
}

std::string DeviceSpeeds::model_names() const {
  std::string out;
  for (const auto& [model, jobs] : models_) out += (out.empty() ? "" : ", ") + model;
  return out;
}

}  // namespace orrery
