// Values as text and buffers: how they stand in a frame's header and payload.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sdk/value.hpp"

namespace orrery::sdk {

/// Levels of lists and objects of a header: more are a broken rule.
inline constexpr int kDepthMax = 256;

/// Bytes that lie elsewhere; that owner outlives the use.
using ByteView = std::span<const std::uint8_t>;

/// Appends `value` as JSON to `text`, each binary value as {"$buffer": i} with its bytes as
/// `buffers[i]`. Throws BadArguments: a key that begins with `$`, a number that is not finite,
/// text that is not UTF-8, too many levels; `place` names the value.
void write_value(const Value& value,
                 std::string_view place,
                 std::string& text,
                 std::vector<ByteView>& buffers);

/// A header: an object in UTF-8, integers within 64 bits, no key twice. Nothing where it is none,
/// with the reason in `why`.
std::optional<Value> read_header(std::string_view text, std::string& why);

/// Puts each buffer where {"$buffer": i} stands in `value`, each at one place at most. False where
/// a rule is broken, with the reason in `why`.
bool place_buffers(Value& value,
                   std::vector<std::vector<std::uint8_t>>& buffers,
                   std::vector<bool>& placed,
                   std::string& why);

}  // namespace orrery::sdk
