// Devices read by NVML.
#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "runtime/devices/device_names.hpp"
#include "runtime/devices/device_reading.hpp"
#include "runtime/devices/nvml_library.hpp"

namespace orrery::runtime {
namespace {

using nvml::Code;

constexpr unsigned int kDevicesMax = 64;

/// The NUMA node of a PCI device, by what the kernel says; -1 where it says nothing.
std::int32_t numa_node_of(std::string bus_id) {
  // NVML writes eight digits of the domain, the kernel four.
  if (bus_id.size() > 12) bus_id = bus_id.substr(bus_id.size() - 12);
  std::transform(bus_id.begin(), bus_id.end(), bus_id.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  std::ifstream in("/sys/bus/pci/devices/" + bus_id + "/numa_node");
  std::int32_t node = -1;
  return in >> node ? node : -1;
}

class NvmlReader : public DeviceReader {
 public:
  static Result<std::unique_ptr<DeviceReader>> open(const std::string& path) {
    auto library = nvml::Library::open(path);
    if (!library) return library.errors();
    std::unique_ptr<NvmlReader> reader(new NvmlReader(std::move(library).value()));
    const Status found = reader->find_devices();
    if (!found) return found.errors();
    reader->register_events();
    return std::unique_ptr<DeviceReader>(std::move(reader));
  }

  NvmlReader(const NvmlReader&) = delete;
  NvmlReader& operator=(const NvmlReader&) = delete;

  ~NvmlReader() override {
    if (events_ != nullptr) nvml().event_set_free(events_);
  }

  const std::vector<FoundDevice>& devices() const override { return devices_; }

  std::vector<DeviceReading> read() override {
    std::vector<DeviceReading> readings;
    readings.reserve(handles_.size());
    for (nvml::Handle handle : handles_) readings.push_back(read_one(handle));
    return readings;
  }

  std::vector<DeviceXid> wait_for_xids(Duration longest) override {
    std::vector<DeviceXid> xids;
    auto patience =
        static_cast<unsigned int>(std::clamp<std::int64_t>(longest.ns / 1'000'000, 0, 3'600'000));
    if (events_ == nullptr) {
      std::this_thread::sleep_for(std::chrono::milliseconds(patience));
      return xids;
    }
    while (xids.size() < kXidsAtOnce) {
      nvml::EventData event{};
      const int code = nvml().event_set_wait(events_, &event, patience);
      if (code != Code::kSuccess) {
        // A lost GPU may end the wait at once, again and again; readings tell which one it is.
        if (code != Code::kTimeout && xids.empty())
          std::this_thread::sleep_for(std::chrono::milliseconds(patience));
        break;
      }
      const auto handle = std::find(handles_.begin(), handles_.end(), event.device);
      if (event.type == nvml::kEventXid && handle != handles_.end())
        xids.push_back({static_cast<std::size_t>(handle - handles_.begin()), event.data});
      patience = 0;
    }
    return xids;
  }

 private:
  static constexpr std::size_t kXidsAtOnce = 1000;

  explicit NvmlReader(std::unique_ptr<nvml::Library> library) : library_(std::move(library)) {}

  const nvml::Functions& nvml() const { return library_->functions(); }

  Error failure(std::string what, int code) const {
    return {ErrorCode::Unavailable,
            {},
            0,
            "NVML",
            "cannot tell " + std::move(what) + " (" + library_->words(code) +
                "), a driver that works is needed; reset the GPUs, or reboot"};
  }

  Status find_devices() {
    unsigned int count = 0;
    if (const int code = nvml().count(&count); code != Code::kSuccess)
      return failure("the number of GPUs", code);
    for (unsigned int i = 0; i < std::min(count, kDevicesMax); ++i) {
      nvml::Handle handle = nullptr;
      if (const int code = nvml().handle(i, &handle); code != Code::kSuccess)
        return failure("what GPU " + std::to_string(i) + " is", code);
      handles_.push_back(handle);
      devices_.push_back(describe(handle));
    }
    return Done{};
  }

  FoundDevice describe(nvml::Handle handle) const {
    FoundDevice device;
    std::array<char, 128> text{};
    if (nvml().name(handle, text.data(), text.size() - 1) == Code::kSuccess)
      device.model = short_model_name(text.data());
    text.fill(0);
    if (nvml().uuid(handle, text.data(), text.size() - 1) == Code::kSuccess)
      device.uuid = text.data();
    nvml::Memory memory{};
    if (nvml().memory(handle, &memory) == Code::kSuccess)
      device.memory = Bytes{static_cast<std::int64_t>(memory.total)};
    nvml::PciInfo pci{};
    if (nvml().pci_info(handle, &pci) == Code::kSuccess) {
      pci.bus_id[sizeof pci.bus_id - 1] = 0;
      device.bus_id = pci.bus_id;
      device.numa_node = numa_node_of(device.bus_id);
    }
    return device;
  }

  void register_events() {
    if (!nvml().has_events() || nvml().event_set_create(&events_) != Code::kSuccess) {
      events_ = nullptr;
      return;
    }
    bool any = false;
    for (nvml::Handle handle : handles_)
      any |= nvml().register_events(handle, nvml::kEventXid, events_) == Code::kSuccess;
    if (any) return;
    nvml().event_set_free(events_);
    events_ = nullptr;
  }

  /// A query that old models do not know tells nothing; one that finds the GPU gone tells all.
  static bool is_gone(int code) {
    return code == Code::kGpuIsLost || code == Code::kResetRequired || code == Code::kUnknown;
  }

  DeviceReading read_one(nvml::Handle handle) const {
    DeviceReading reading;
    nvml::Memory memory{};
    unsigned long long value = 0;
    int code = nvml().memory(handle, &memory);
    if (!is_gone(code) && nvml().ecc_errors != nullptr) {
      code = nvml().ecc_errors(handle, nvml::kUncorrected, nvml::kVolatile, &value);
      if (code == Code::kSuccess) reading.ecc_errors = value;
    }
    if (!is_gone(code) && nvml().throttle_reasons != nullptr) {
      value = 0;
      code = nvml().throttle_reasons(handle, &value);
      if (code == Code::kSuccess) reading.too_hot = (value & nvml::kSlowedByHeat) != 0;
    }
    if (is_gone(code)) {
      reading = {};
      reading.answers = false;
      reading.failure = library_->words(code);
    }
    return reading;
  }

  std::unique_ptr<nvml::Library> library_;
  std::vector<nvml::Handle> handles_;
  std::vector<FoundDevice> devices_;
  nvml::EventSet events_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<DeviceReader>> open_nvml(const std::string& library) {
  return NvmlReader::open(library);
}

}  // namespace orrery::runtime
