#include "runtime/devices/helper_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/devices/device_lines.hpp"
#include "runtime/devices/helper_process.hpp"

namespace orrery::runtime {
namespace {

/// A program that runs, and the devices that it told of.
struct Started {
  HelperProcess process;
  std::vector<FoundDevice> devices;
};

Error says_nothing(const std::string& program) {
  return {ErrorCode::Unavailable,
          program,
          0,
          "NVML",
          "does not tell its devices, a driver that answers is needed; reset the GPUs, or reboot"};
}

Result<Started> start(const std::string& program, const std::string& library, Duration patience) {
  auto process = HelperProcess::start({program, library});
  if (!process) return process.errors();
  Started started{std::move(process).value(), {}};
  while (const auto line = started.process.line(patience)) {
    if (*line == "ready") return started;
    if (const auto error = parse_failed_line(*line)) return *error;
    if (auto device = parse_device_line(*line)) started.devices.push_back(*std::move(device));
  }
  return says_nothing(program);
}

class HelperReader : public DeviceReader {
 public:
  HelperReader(std::string program, std::string library, Duration patience, Started started)
      : program_(std::move(program)),
        library_(std::move(library)),
        patience_(patience),
        devices_(started.devices) {
    adopt(std::move(started));
  }

  const std::vector<FoundDevice>& devices() const override { return devices_; }

  std::vector<DeviceReading> read() override {
    std::vector<DeviceReading> readings(devices_.size());
    if (!process_ && !start_again()) return no_answer("the reader of devices cannot start");
    process_->say("read\n");
    std::size_t row = 0;
    while (const auto line = process_->line(patience_)) {
      if (*line == "end" && row == rows_.size()) return with_gone_ones(std::move(readings));
      if (const auto xid = parse_xid_line(*line)) keep(*xid);
      const auto reading = parse_reading_line(*line);
      if (!reading || row >= rows_.size()) continue;
      if (const auto device = rows_[row++]) readings[*device] = *reading;
    }
    const bool ended = process_->ended();
    process_.reset();
    return no_answer(ended ? "the reader of devices has ended" : "the driver does not answer");
  }

  std::vector<DeviceXid> wait_for_xids(Duration longest) override {
    if (waiting_.empty() && !process_)
      std::this_thread::sleep_for(std::chrono::nanoseconds(longest.ns));
    Duration patience = waiting_.empty() ? longest : Duration::zero();
    while (process_) {
      const auto line = process_->line(patience);
      if (!line) break;
      if (const auto xid = parse_xid_line(*line)) keep(*xid);
      patience = Duration::zero();
    }
    if (process_ && process_->ended()) process_.reset();
    return std::exchange(waiting_, {});
  }

 private:
  void adopt(Started started) {
    process_ = std::move(started.process);
    rows_.clear();
    for (const FoundDevice& told : started.devices) {
      const auto known =
          std::find_if(devices_.begin(), devices_.end(), [&](const FoundDevice& device) {
            return device.uuid == told.uuid && device.bus_id == told.bus_id;
          });
      if (known == devices_.end())
        rows_.emplace_back();
      else
        rows_.emplace_back(static_cast<std::size_t>(known - devices_.begin()));
    }
  }

  bool start_again() {
    auto started = start(program_, library_, patience_);
    if (!started) return false;
    adopt(std::move(started).value());
    return true;
  }

  void keep(const DeviceXid& xid) {
    if (xid.device < rows_.size() && rows_[xid.device])
      waiting_.push_back({*rows_[xid.device], xid.xid});
  }

  std::vector<DeviceReading> no_answer(const std::string& why) const {
    DeviceReading reading;
    reading.answers = false;
    reading.failure = why;
    return std::vector<DeviceReading>(devices_.size(), reading);
  }

  /// Devices that the program that runs now has not found.
  std::vector<DeviceReading> with_gone_ones(std::vector<DeviceReading> readings) const {
    for (std::size_t i = 0; i < readings.size(); ++i) {
      if (std::find(rows_.begin(), rows_.end(), std::optional(i)) != rows_.end()) continue;
      readings[i].answers = false;
      readings[i].failure = "it is not there any more";
    }
    return readings;
  }

  std::string program_;
  std::string library_;
  Duration patience_;
  std::vector<FoundDevice> devices_;
  std::optional<HelperProcess> process_;
  std::vector<std::optional<std::size_t>> rows_;  ///< Of each line of the program: which device.
  std::vector<DeviceXid> waiting_;
};

}  // namespace

Result<std::unique_ptr<DeviceReader>> open_helper(const std::string& program,
                                                  const std::string& library,
                                                  Duration patience) {
  auto started = start(program, library, patience);
  if (!started) return started.errors();
  return std::unique_ptr<DeviceReader>(
      std::make_unique<HelperReader>(program, library, patience, std::move(started).value()));
}

std::string helper_beside_this_program() {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return {};
  const std::filesystem::path helper = self.parent_path() / "orrery-devices";
  return ::access(helper.c_str(), X_OK) == 0 ? helper.string() : std::string();
}

}  // namespace orrery::runtime
