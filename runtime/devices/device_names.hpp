// What models of devices are called.
#pragma once

#include <string>
#include <string_view>

namespace orrery::runtime {

/// The short name of a model in lower case: "h200" of "NVIDIA H200", "a100-sxm4-80gb" of
/// "NVIDIA A100-SXM4-80GB", "rtx-4090" of "NVIDIA GeForce RTX 4090". Only a-z, 0-9, '.' and '-';
/// "gpu" where nothing is left.
std::string short_model_name(std::string_view vendor_name);

}  // namespace orrery::runtime
