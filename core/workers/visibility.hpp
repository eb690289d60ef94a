// Which devices of its node a process sees, and the variables that bring this about.
//
// Devices have three numberings, and each word means one of them. *Assigned*: the devices that the
// process holds, by their index on the node. *Visible*: the devices that it can see, by the same
// index, ascending. *In-process index*: what the process itself calls a device, its position among
// the visible ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/resources.hpp"
#include "core/job/spec.hpp"

namespace orrery::workers {

/// How far a process sees.
enum class Sight : std::uint8_t {
  Own,     ///< The devices assigned to it; none where it has none.
  Engine,  ///< Also those of the workers tied to it, as far as they are on its node.
  Node,    ///< Every device of its node.
};

/// Devices of one node in the eyes of one process.
struct DeviceView {
  Sight sight = Sight::Own;
  std::int32_t on_node = 0;              ///< Devices that the node has.
  std::vector<std::int32_t> assigned;    ///< Ascending.
  std::vector<std::int32_t> visible;     ///< Ascending; holds all of `assigned`.
  std::vector<std::int32_t> in_process;  ///< Of each assigned one, its position in `visible`.

  /// The first assigned device, else the first visible one, else -1.
  std::int32_t first() const;

  friend bool operator==(const DeviceView&, const DeviceView&) = default;
};

/// Of a process that sees its own devices or the node's. `assigned` has bits of the node's devices
/// 0 .. on_node - 1 only; `on_node` is 0 to 64.
DeviceView device_view(std::uint64_t assigned, std::int32_t on_node, Sight sight);

/// Of any process, from lists, each ascending: `visible` holds all of `assigned`.
DeviceView device_view(std::vector<std::int32_t> assigned,
                       Sight sight,
                       std::vector<std::int32_t> visible,
                       std::int32_t on_node);

/// Variables of one vendor's devices.
struct Visibility {
  std::vector<KeyValue> computed;          ///< What the process must have.
  std::vector<KeyValue> suggested;         ///< What it has unless its user says otherwise.
  std::vector<std::string_view> reserved;  ///< What it must not have beside them.
};

/// What devices of no known vendor are shown by, where no other name was chosen.
inline constexpr std::string_view kCustomVisibleDevices = "ORRERY_VISIBLE_DEVICES";

/// The variable that shows devices to a process; `custom` names that of DeviceVendor::Custom, and
/// empty means kCustomVisibleDevices.
///
/// AMD has one variable for each of two layers: ROCR_VISIBLE_DEVICES chooses among the node's
/// devices, and HIP_VISIBLE_DEVICES among those that the first has left, counted anew and in an
/// order of its own. Both at once hide too much: "1" in both leaves nothing. HIP is set, the one
/// that RLinf, Ray and PyTorch agree on, and the others are kept away from the process.
std::string_view visibility_variable(DeviceVendor vendor, std::string_view custom = {});

/// All variables that show exactly `view.visible`.
///
/// Without a visible device the value is empty, for AMD "-1": to HIP an empty list means all.
/// NVIDIA's devices are numbered by bus, so that an index means the same device to everybody, and
/// simulators draw on the first own device: EGL counts the node's devices, all of them.
Visibility visibility_of(DeviceVendor vendor, const DeviceView& view, std::string_view custom = {});

/// Numbers of the bits that are set, ascending.
std::vector<std::int32_t> bit_numbers(std::uint64_t bits);

/// "0,2"; empty without a number.
std::string number_list(const std::vector<std::int32_t>& numbers);

}  // namespace orrery::workers
