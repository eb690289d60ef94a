#include "runtime/devices/inventory.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/devices/hardware_file.hpp"
#include "runtime/devices/helper_reader.hpp"

namespace orrery::runtime {
namespace {

/// Some of another reader's devices.
class SomeDevices : public DeviceReader {
 public:
  SomeDevices(std::unique_ptr<DeviceReader> all, std::vector<std::size_t> places)
      : all_(std::move(all)), places_(std::move(places)) {
    for (const std::size_t place : places_) devices_.push_back(all_->devices()[place]);
  }

  const std::vector<FoundDevice>& devices() const override { return devices_; }

  std::vector<DeviceReading> read() override {
    const std::vector<DeviceReading> all = all_->read();
    std::vector<DeviceReading> some;
    some.reserve(places_.size());
    for (const std::size_t place : places_) some.push_back(all[place]);
    return some;
  }

  std::vector<DeviceXid> wait_for_xids(Duration longest) override {
    std::vector<DeviceXid> some;
    for (const DeviceXid& xid : all_->wait_for_xids(longest)) {
      const auto place = std::find(places_.begin(), places_.end(), xid.device);
      if (place != places_.end())
        some.push_back({static_cast<std::size_t>(place - places_.begin()), xid.xid});
    }
    return some;
  }

 private:
  std::unique_ptr<DeviceReader> all_;
  std::vector<std::size_t> places_;
  std::vector<FoundDevice> devices_;
};

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The reader of all devices of one model.
Result<std::unique_ptr<DeviceReader>> of_one_model(std::unique_ptr<DeviceReader> reader,
                                                   const std::string& model) {
  std::set<std::string> models;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < reader->devices().size(); ++i) {
    models.insert(reader->devices()[i].model);
    if (reader->devices()[i].model == model) places.push_back(i);
  }
  if (model.empty() && models.size() > 1)
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "inventory",
                 "finds devices of the models " + joined(models) +
                     ", one model is needed on a node; name it by inventory.device_model"};
  if (model.empty() || models.size() == (models.contains(model) ? 1U : 0U)) return reader;
  if (places.empty())
    return Error{ErrorCode::InvalidInput,
                 {},
                 0,
                 "inventory",
                 "finds no device of model " + model + ", there are " + joined(models) +
                     "; correct inventory.device_model"};
  return std::unique_ptr<DeviceReader>(
      std::make_unique<SomeDevices>(std::move(reader), std::move(places)));
}

/// By the program beside this one, where there is one: a driver that hangs then does not hang this.
Result<std::unique_ptr<DeviceReader>> open_devices(const std::string& library) {
  const std::string program = helper_beside_this_program();
  return program.empty() ? open_nvml(library) : open_helper(program, library);
}

Status find_devices(const InventoryConfig& config, LossFile loss, FoundInventory& found) {
  if (config.devices) {
    if (*config.devices == 0) return Done{};
    found.pretended = true;
    found.reader = std::make_unique<PretendedDevices>(
        static_cast<std::size_t>(*config.devices),
        config.device_model.empty() ? "gpu" : config.device_model,
        std::move(loss));
    found.inventory.devices = found.reader->devices();
    return Done{};
  }
  auto reader = open_devices(config.nvml_library);
  if (!reader) {
    if (!config.nvml_library.empty()) return reader.errors();
    for (const Error& error : reader.errors())
      found.remarks.push_back("no GPUs are offered: " + error.text());
    return Done{};
  }
  if ((*reader)->devices().empty()) {
    found.remarks.emplace_back("no GPUs are offered: NVML finds none");
    return Done{};
  }
  auto chosen = of_one_model(std::move(reader).value(), config.device_model);
  if (!chosen) return chosen.errors();
  found.reader = std::move(chosen).value();
  found.inventory.devices = found.reader->devices();
  return Done{};
}

}  // namespace

Result<FoundInventory> find_inventory(const InventoryConfig& config,
                                      const Topology& topology,
                                      LossFile loss) {
  FoundInventory found;
  const HostResources host = read_host(topology);
  found.inventory.cpu = config.cpu.value_or(host.cpu);
  found.inventory.memory = config.memory.value_or(host.memory);
  found.inventory.numa_nodes = host.numa_nodes;
  found.inventory.ports = config.ports;
  Errors errors;
  if (!config.hardware_file.empty()) {
    auto hardware = load_hardware(config.hardware_file);
    if (hardware)
      found.inventory.hardware = std::move(hardware).value();
    else
      errors = hardware.errors();
  }
  const Status devices = find_devices(config, std::move(loss), found);
  if (!devices) errors.insert(errors.end(), devices.errors().begin(), devices.errors().end());
  if (!errors.empty()) return errors;
  return found;
}

}  // namespace orrery::runtime
