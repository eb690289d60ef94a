// Every policy by name, with its parameters: the one table that `orrery policies` prints.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/models/job_models.hpp"
#include "core/plan/policy.hpp"
#include "core/plan/rehearsal.hpp"

namespace orrery {

namespace policies {

/// How the text of a parameter is read.
enum class ParameterType : std::uint8_t {
  Integer,   ///< Whole number.
  Number,    ///< Decimal number.
  Duration,  ///< Number with ns, us, ms, s, min, h or d; a bare number is seconds.
  Flag,      ///< true or false.
  List,      ///< Decimal numbers joined by ",".
  Text,      ///< What the policy reads itself.
};

/// One parameter as users see it. Texts of `initial`, `least` and `most` are as users write them;
/// empty bounds are none. For a list they bound each element.
struct ParameterRow {
  std::string_view name;
  ParameterType type = ParameterType::Number;
  std::string_view unit;  ///< Empty where the type says it all.
  std::string_view initial;
  std::string_view least;
  std::string_view most;
  std::string_view help;
};

/// What a policy is made from.
struct PolicyArguments {
  std::map<std::string, std::string>
      parameters;            ///< As written, by name; others have their default.
  std::uint64_t seed = 0;    ///< For policies that draw random numbers.
  JobModels models;          ///< Where empty: jobs are taken to speed up in proportion.
  int devices_per_node = 1;  ///< How densely policies may think replicas packed, at least 1.
  std::shared_ptr<Rehearsal> rehearsal;  ///< For policies that rehearse; null: none can be made.
};

/// The checked values of one policy's parameters, defaults filled in.
class ParameterValues {
 public:
  /// Each asks for a parameter of the row by its name and type; anything else is a bug.
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  Duration duration(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::vector<double>& list(std::string_view name) const;
  const std::string& text(std::string_view name) const;

 private:
  friend class ParameterReader;

  struct Value {
    std::int64_t whole = 0;  ///< Integer, Duration in nanoseconds, Flag.
    double number = 0;
    std::vector<double> list;
    std::string text;
  };

  const Value& at(std::string_view name) const;

  std::map<std::string, Value, std::less<>> values_;
};

/// One policy.
struct PolicyRow {
  std::string_view name;
  std::string_view summary;
  std::span<const ParameterRow> parameters;
  Result<std::unique_ptr<Policy>> (*make)(const ParameterValues&, const PolicyArguments&);
  bool needs_solver = false;     ///< Of linear programs: `policies/solver`.
  bool needs_rehearsal = false;  ///< `PolicyArguments::rehearsal`; takes queues itself.
};

/// Whether this program can make the policy: one that needs a solver can be made where the program
/// was built with its library.
bool is_available(const PolicyRow& row);

/// All policies, in the order in which they are listed.
std::span<const PolicyRow> rows();

/// The row of exactly this name; null where there is none.
const PolicyRow* find_row(std::string_view name);

/// A value of the parameter at which it matters within minutes, for runs as short as storms are;
/// empty: its initial one does.
std::string brief_value(const ParameterRow& parameter);

/// A policy by name. Errors name what was unknown or out of range and what there is; the subject is
/// "policy" or "policy.PARAMETER".
Result<std::unique_ptr<Policy>> make_policy(std::string_view name,
                                            const PolicyArguments& arguments = {});

}  // namespace policies

template <>
struct EnumNames<policies::ParameterType> {
  static constexpr std::array kNames{"integer", "number", "duration", "flag", "list", "text"};
};

}  // namespace orrery
