#include "core/models/device_speeds.hpp"

#include <algorithm>

namespace orrery {

std::optional<double> DeviceSpeeds::steps_per_second(std::string_view model,
                                                     std::string_view kind,
                                                     int devices) const {
  const auto table = models_.find(model);
  if (table == models_.end()) return std::nullopt;
  const auto entry = table->second.find(Before::Key(kind, devices));
  if (entry == table->second.end() || entry->second <= 0) return std::nullopt;
  return entry->second;
}

bool DeviceSpeeds::has_kind(std::string_view kind) const {
  return std::any_of(models_.begin(), models_.end(), [&](const auto& model) {
    const auto entry = model.second.lower_bound(Before::Key(kind, 0));
    return entry != model.second.end() && entry->first.kind == kind;
  });
}

std::map<std::string, std::size_t> DeviceSpeeds::sizes() const {
  std::map<std::string, std::size_t> out;
  for (const auto& [model, jobs] : models_) out[model] = jobs.size();
  return out;
}

std::string DeviceSpeeds::model_names() const {
  std::string out;
  for (const auto& [model, jobs] : models_) out += (out.empty() ? "" : ", ") + model;
  return out;
}

}  // namespace orrery
