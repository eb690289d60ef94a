// One spelling per enumerator, shared by YAML, JSON, the journal's text and logs.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace orrery {

/// Specialise with `static constexpr std::array kNames{"First", ...}` in the order of the
/// enumerators, which must count up from 0.
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = requires {
  EnumNames<E>::kNames.size();
};

/// The one spelling of an enumerator.
template <NamedEnum E>
constexpr std::string_view to_string(E e) {
  return EnumNames<E>::kNames[static_cast<std::size_t>(e)];
}

/// The enumerator of exactly this spelling, or nothing.
template <NamedEnum E>
constexpr std::optional<E> enum_from(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<E>::kNames.size(); ++i)
    if (name == EnumNames<E>::kNames[i]) return static_cast<E>(i);
  return std::nullopt;
}

/// All spellings joined by ", ": what an error message says was needed.
template <NamedEnum E>
std::string enum_choices() {
  std::string out;
  for (std::string_view name : EnumNames<E>::kNames) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

}  // namespace orrery
