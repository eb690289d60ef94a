// What a helper process of a controller does at its end of the connection.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/units.hpp"
#include "runtime/planner/planner_frames.hpp"

namespace orrery::runtime {

/// The descriptor by which the process is connected to its controller.
inline constexpr int kPlannerFd = 3;

/// The process ends with the controller's thread that started it, is the first to go where memory
/// runs out, and leaves no core.
void settle_in();

/// Nothing more can be mapped than this from now on; 0: no limit. No effect under a sanitizer,
/// which reserves terabytes of addresses.
void limit_memory(Bytes memory);

/// One frame, all of it or in two steps. False: the controller has gone.
bool read_frame(int fd, FrameHead& head, std::vector<std::byte>& payload);
bool read_head(int fd, FrameHead& head);
bool read_payload(int fd, const FrameHead& head, std::vector<std::byte>& payload);

bool write_all(int fd, std::span<const std::byte> bytes);

/// Tells the controller why there is no answer, as far as it still listens; false. `out` is
/// overwritten.
bool tell_failure(int fd, ByteWriter& out, std::string_view why);

}  // namespace orrery::runtime
