// What a node offers: found, or as its settings say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "runtime/config/config.hpp"
#include "runtime/devices/device_reading.hpp"
#include "runtime/devices/host.hpp"
#include "runtime/devices/pretended_devices.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// An inventory and what goes on looking at its devices.
struct FoundInventory {
  Inventory inventory;
  std::unique_ptr<DeviceReader> reader;  ///< Null where there are no devices.
  bool pretended = false;                ///< The devices are: see PretendedDevices.
  std::vector<std::string> remarks;      ///< For people: what was not found, and why.
};

/// Looks at this machine. Settings go before what is found; `device_model` alone offers only
/// devices of that model; which pretended devices are lost `loss` says. Errors: a hardware file
/// that is wrong, a named library that cannot be opened, devices of several models of which none is
/// named.
Result<FoundInventory> find_inventory(const InventoryConfig& config,
                                      const Topology& topology,
                                      LossFile loss = {});

}  // namespace orrery::runtime
