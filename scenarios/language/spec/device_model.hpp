// How fast devices of a model are, as a scenario or a data sheet says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"

namespace orrery::scenarios {

/// One model of device.
struct DeviceModel {
  std::string name;      ///< As `NodeGroup::device_model` has it.
  double flops = 0;      ///< Floating point operations per second, dense 16-bit; 0: not said.
  Bytes memory;          ///< Of one device; 0: not said.
  double bandwidth = 0;  ///< To its neighbours in the node, bytes per second each way; 0: not said.
  double speed =
      0;  ///< Work per second, against the model that times were measured on; 0: not said.
};

/// The model of this name: of `written`, else of those that are built in, else nullptr. The result
/// lives as long as `written`.
const DeviceModel* find_device_model(const std::vector<DeviceModel>& written,
                                     std::string_view name);

/// How fast work goes on on devices of this model, against that on which its time was measured; 1
/// by default.
double speed_of(const std::vector<DeviceModel>& written, std::string_view name);

/// The names that are built in, for messages: "a100, b200, ...".
std::string known_device_models();

}  // namespace orrery::scenarios
