#include "core/workers/visibility.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::workers {

std::int32_t DeviceView::first() const {
  if (!assigned.empty()) return assigned.front();
  return visible.empty() ? -1 : visible.front();
}

DeviceView device_view(std::uint64_t assigned, std::int32_t on_node, Sight sight) {
  std::vector<std::int32_t> own = bit_numbers(assigned);
  std::vector<std::int32_t> visible = own;
  if (sight == Sight::Node) {
    visible.resize(static_cast<std::size_t>(on_node));
    std::iota(visible.begin(), visible.end(), 0);
  }
  return device_view(std::move(own), sight, std::move(visible), on_node);
}

DeviceView device_view(std::vector<std::int32_t> assigned,
                       Sight sight,
                       std::vector<std::int32_t> visible,
                       std::int32_t on_node) {
  invariant(visible.empty() || (visible.front() >= 0 && visible.back() < on_node),
            "a process sees devices of its node only");
  DeviceView out{sight, on_node, std::move(assigned), std::move(visible), {}};
  for (const std::int32_t device : out.assigned) {
    const auto at = std::ranges::lower_bound(out.visible, device);
    invariant(at != out.visible.end() && *at == device, "a process sees every device that it has");
    out.in_process.push_back(static_cast<std::int32_t>(at - out.visible.begin()));
  }
  return out;
}

std::string_view visibility_variable(DeviceVendor vendor, std::string_view custom) {
  switch (vendor) {
    case DeviceVendor::Nvidia:
      return "CUDA_VISIBLE_DEVICES";
    case DeviceVendor::Amd:
      return "HIP_VISIBLE_DEVICES";
    case DeviceVendor::Ascend:
      return "ASCEND_RT_VISIBLE_DEVICES";
    case DeviceVendor::Custom:
      return custom.empty() ? kCustomVisibleDevices : custom;
  }
  return kCustomVisibleDevices;
}

Visibility visibility_of(DeviceVendor vendor, const DeviceView& view, std::string_view custom) {
  Visibility out;
  std::string shown = number_list(view.visible);
  if (vendor == DeviceVendor::Amd) {
    out.reserved = {"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES"};
    if (shown.empty()) shown = "-1";
  }
  if (vendor == DeviceVendor::Nvidia) {
    out.computed.push_back({"CUDA_DEVICE_ORDER", "PCI_BUS_ID"});
    if (!view.visible.empty())
      out.suggested.push_back({"MUJOCO_EGL_DEVICE_ID", std::to_string(view.first())});
  }
  out.computed.push_back({std::string(visibility_variable(vendor, custom)), std::move(shown)});
  return out;
}

std::vector<std::int32_t> bit_numbers(std::uint64_t bits) {
  std::vector<std::int32_t> out;
  for (; bits != 0; bits &= bits - 1) out.push_back(std::countr_zero(bits));
  return out;
}

std::string number_list(const std::vector<std::int32_t>& numbers) {
  std::string out;
  for (const std::int32_t number : numbers) {
    if (!out.empty()) out += ',';
    out += std::to_string(number);
  }
  return out;
}

}  // namespace orrery::workers
