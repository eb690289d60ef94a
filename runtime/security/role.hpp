// The role of a client at a controller: a certificate's subject or a token tells it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/enum_names.hpp"

namespace orrery::runtime {

/// What a client may do. A certificate has it as its organizational unit.
enum class Role : std::uint8_t {
  Agent,       ///< Be the node of its name.
  User,        ///< Submit, change and look at jobs.
  Admin,       ///< That, and change nodes.
  Controller,  ///< Be a controller.
};

/// A role, and whose: a certificate's common name.
struct Holder {
  Role role = Role::User;
  std::string name;

  friend bool operator==(const Holder&, const Holder&) = default;
};

/// Whether `name` is fit for a certificate, a file name and a line of the tokens' file: 1 to 63 of
/// [A-Za-z0-9._@-], not beginning with "." or "-"; for agents a DNS label, as nodes have.
bool is_holder_name(Role role, std::string_view name);

}  // namespace orrery::runtime

template <>
struct orrery::EnumNames<orrery::runtime::Role> {
  static constexpr std::array kNames{"agent", "user", "admin", "controller"};
};
