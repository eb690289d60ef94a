// Names of jobs as people write and read them: the default namespace is left out.
#pragma once

#include <string>
#include <string_view>

namespace orrery::cli {

inline constexpr std::string_view kDefaultNamespace = "default.";

/// "default." in front of a name without a namespace.
inline std::string full_name(std::string_view name) {
  const bool is_full = name.find('.') != std::string_view::npos;
  return is_full ? std::string(name) : std::string(kDefaultNamespace).append(name);
}

/// The name without the default namespace.
inline std::string short_name(const std::string& full) {
  return full.starts_with(kDefaultNamespace) ? full.substr(kDefaultNamespace.size()) : full;
}

}  // namespace orrery::cli
