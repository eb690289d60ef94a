// References and functions in values of a composed document: ${actor.model.size}, ${..name},
// ${subtract:${a},${b}}. They are followed when a value is asked for, so that what cannot be told
// here (a path from the environment) stops nothing that does not need it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::scenarios {

class Interpolation {
 public:
  using Variable = std::function<std::optional<std::string>(const std::string& name)>;

  /// `root` outlives it.
  explicit Interpolation(const YamlNode& root, Variable variable = {})
      : root_(root), variable_(std::move(variable)) {}

  /// The value at a path of keys like "actor.model", with all that it refers to put in; a map or a
  /// list as it is written. Null where there is none.
  ///
  /// Errors name the value's place: what is referred to is not there or leads back to itself, a
  /// function is unknown or is given what it cannot take, a variable is not set.
  Result<YamlNode> at(std::string_view path) const;

  /// Whether there is a value at the path, other than null.
  bool has(std::string_view path) const;

 private:
  const YamlNode& root_;
  Variable variable_;
};

}  // namespace orrery::scenarios
