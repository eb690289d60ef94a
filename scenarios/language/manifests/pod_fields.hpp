// What becomes of every field of a Kubernetes pod template when a controller runs the job: one
// table for each object, which the reader obeys and docs/job_files.md shows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/enum_names.hpp"

namespace orrery::scenarios {

enum class FieldTreatment : std::uint8_t {
  Mapped,   ///< It becomes part of the job.
  Ignored,  ///< The program runs all the same; a warning names it.
  Refused,  ///< The program would not run as it says: an error names it.
};

/// One field of an object.
struct FieldRule {
  std::string_view name;  ///< With '*' at its end or as a whole part: any text there.
  FieldTreatment treatment;
  std::string_view words;  ///< What it becomes; why nothing is missed; what to do instead.
};

/// All fields of one object that Kubernetes knows; others are unknown names.
struct FieldTable {
  std::string_view object;  ///< As docs/job_files.md calls it.
  std::span<const FieldRule> rules;

  /// The rule of a field, or nullptr.
  const FieldRule* find(std::string_view name) const;
};

std::span<const FieldTable> pod_field_tables();

/// The table of this object; it exists.
const FieldTable& pod_field_table(std::string_view object);

}  // namespace orrery::scenarios

namespace orrery {

template <>
struct EnumNames<scenarios::FieldTreatment> {
  static constexpr std::array kNames{"mapped", "ignored", "refused"};
};

}  // namespace orrery
