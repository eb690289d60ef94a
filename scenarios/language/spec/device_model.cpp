#include "scenarios/language/spec/device_model.hpp"

#include <algorithm>
#include <array>

namespace orrery::scenarios {
namespace {

constexpr Bytes gigabytes(std::int64_t n) { return {n * 1'000'000'000}; }

// NVIDIA's data sheets of the SXM modules; docs/scenario_format.md names them. Compute is that of
// 16-bit floats on tensor cores without sparsity, bandwidth half of NVLink's total of both ways.
const std::array<DeviceModel, 5>& built_in() {
  static const std::array<DeviceModel, 5> models{
      DeviceModel{"a100", 312e12, gigabytes(80), 300e9},
      DeviceModel{"b200", 2250e12, gigabytes(180), 900e9},
      DeviceModel{"h100", 989e12, gigabytes(80), 450e9},
      DeviceModel{"h200", 989e12, gigabytes(141), 450e9},
      DeviceModel{"v100", 125e12, gigabytes(32), 150e9},
  };
  return models;
}

template <class Models>
const DeviceModel* find_in(const Models& models, std::string_view name) {
  const auto found = std::find_if(
      models.begin(), models.end(), [&](const DeviceModel& model) { return model.name == name; });
  return found == models.end() ? nullptr : &*found;
}

}  // namespace

const DeviceModel* find_device_model(const std::vector<DeviceModel>& written,
                                     std::string_view name) {
  const DeviceModel* model = find_in(written, name);
  return model != nullptr ? model : find_in(built_in(), name);
}

double speed_of(const std::vector<DeviceModel>& written, std::string_view name) {
  const DeviceModel* model = find_in(written, name);
  return model != nullptr && model->speed > 0 ? model->speed : 1;
}

std::string known_device_models() {
  std::string names;
  for (const DeviceModel& model : built_in()) names += (names.empty() ? "" : ", ") + model.name;
  return names;
}

}  // namespace orrery::scenarios
