// What is read from the devices of a node, and its readers: NVML, or a stand-in of tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "runtime/link/messages.hpp"

namespace orrery::runtime {

/// One look at one device.
struct DeviceReading {
  bool answers = true;           ///< False: it is lost, or needs a reset before it can be used.
  std::string failure;           ///< Where it does not answer: the vendor's words.
  std::uint64_t ecc_errors = 0;  ///< Uncorrected ones since the driver was loaded.
  bool too_hot = false;          ///< Slowed down by heat at this moment.

  friend bool operator==(const DeviceReading&, const DeviceReading&) = default;
};

/// An error that the driver reported by itself.
struct DeviceXid {
  std::size_t device = 0;
  std::uint64_t xid = 0;  ///< NVIDIA's number of the error.

  friend bool operator==(const DeviceXid&, const DeviceXid&) = default;
};

/// Reads devices. Not for several threads at once. Any call may take seconds where a driver is in
/// failure.
class DeviceReader {
 public:
  virtual ~DeviceReader() = default;

  /// The devices, in the order whose bits masks have.
  virtual const std::vector<FoundDevice>& devices() const = 0;

  /// One reading for each device.
  virtual std::vector<DeviceReading> read() = 0;

  /// Waits for errors that the driver reports, at most so long; those that came.
  virtual std::vector<DeviceXid> wait_for_xids(Duration longest) = 0;
};

/// Opens NVML at run time: `library`, or where that is empty the usual names. Errors: NotFound
/// where there is no such library or no driver, which is how machines without GPUs are; Unavailable
/// where there is one that does not work; InvalidInput from a static program, which cannot open
/// libraries.
Result<std::unique_ptr<DeviceReader>> open_nvml(const std::string& library);

}  // namespace orrery::runtime
