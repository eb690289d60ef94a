// Whose fault a worker says its end was.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/enum_names.hpp"
#include "core/base/ids.hpp"

namespace orrery {

/// Whom a worker that fails holds responsible.
enum class Blame : std::uint8_t {
  None,  ///< It said nothing.
  Mine,  ///< Its own program.
  Node,  ///< The node that it ran on.
  Peer,  ///< Another worker of its job.
};

template <>
struct EnumNames<Blame> {
  static constexpr std::array kNames{"none", "mine", "node", "peer"};
};

/// Most bytes of a diagnosis's message.
inline constexpr std::size_t kDiagnosisTextMax = 512;

/// What a worker said last before it ended otherwise than by success.
struct Diagnosis {
  Blame blame = Blame::None;
  RoleIndex role;         ///< Peer: whom it names. None: its job has no such role.
  std::int32_t rank = 0;  ///< Peer: inside that role.
  std::string message;    ///< For people; at most `kDiagnosisTextMax` bytes of UTF-8, one line.

  friend auto operator<=>(const Diagnosis&, const Diagnosis&) = default;

  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) {
    v.field("blame", self.blame);
    v.field("role", self.role);
    v.field("rank", self.rank);
    v.field("message", self.message);
  }
};

/// The beginning of a UTF-8 text, at most `bytes_max` bytes, cut between two characters.
inline std::string_view cut_at_character(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace orrery
