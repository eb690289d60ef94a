// Whether a type is one of those that a variant may hold.
#pragma once

#include <type_traits>
#include <variant>

namespace orrery {

template <class Kind, class Variant>
inline constexpr bool is_alternative = false;

template <class Kind, class... Kinds>
inline constexpr bool is_alternative<Kind, std::variant<Kinds...>> = (std::is_same_v<Kind, Kinds> ||
                                                                      ...);

}  // namespace orrery
