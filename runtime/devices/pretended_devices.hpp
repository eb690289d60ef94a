// Devices that are not there, for trying things, and their loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/devices/device_reading.hpp"

namespace orrery::runtime {

/// Where people say which pretended devices are lost.
struct LossFile {
  std::string path;  ///< Absolute or relative; empty: none is ever lost.
  /// Told once of each text that names something else than devices of this node.
  std::function<void(const std::string&)> say;
};

/// Devices that work, except those whose numbers stand in a file: counted from 0, separated by
/// commas, blanks or ends of lines. One is lost (XID 79) as soon as the file names it, whether it
/// was written or moved there, and works again once the file does not name it or is gone.
class PretendedDevices : public DeviceReader {
 public:
  /// So many devices, 0 to 64, of a model. Makes the folder of the file where there is none.
  PretendedDevices(std::size_t count, const std::string& model, LossFile file);
  PretendedDevices(const PretendedDevices&) = delete;
  PretendedDevices& operator=(const PretendedDevices&) = delete;
  ~PretendedDevices() override;

  const std::vector<FoundDevice>& devices() const override { return devices_; }

  std::vector<DeviceReading> read() override;

  std::vector<DeviceXid> wait_for_xids(Duration longest) override;

 private:
  void wait_for_change(Duration longest) const;
  void read_file();

  std::vector<FoundDevice> devices_;
  LossFile file_;
  int changes_ = -1;  ///< inotify of the file's folder; -1 where it cannot be had.
  std::string text_;  ///< Of the file, when it was read last.
  std::uint64_t lost_ = 0;
  std::uint64_t told_ = 0;  ///< Of those: reported as XIDs.
};

}  // namespace orrery::runtime
