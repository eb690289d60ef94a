#include "runtime/sdk/errors.hpp"

#include <array>

namespace orrery::sdk {
namespace {

template <class Error>
[[noreturn]] void throw_as(ErrorFields&& fields) {
  throw Error(std::move(fields));
}

struct ErrorType {
  std::string_view name;
  void (*raise)(ErrorFields&&);
};

constexpr std::array<ErrorType, 16> kTypes{{
    {"WorkerLost", throw_as<WorkerLost>},
    {"Timeout", throw_as<Timeout>},
    {"Cancelled", throw_as<Cancelled>},
    {"GenerationChanged", throw_as<GenerationChanged>},
    {"Remote", throw_as<Remote>},
    {"UnknownMethod", throw_as<UnknownMethod>},
    {"BadArguments", throw_as<BadArguments>},
    {"TooLarge", throw_as<TooLarge>},
    {"NotIdempotent", throw_as<NotIdempotent>},
    {"SecondDriver", throw_as<SecondDriver>},
    {"NotAuthorised", throw_as<NotAuthorised>},
    {"NoSuchWorker", throw_as<NoSuchWorker>},
    {"ChannelFull", throw_as<ChannelFull>},
    {"ChannelClosed", throw_as<ChannelClosed>},
    {"NoSuchChannel", throw_as<NoSuchChannel>},
    {"Protocol", throw_as<Protocol>},
}};

std::string joined_findings(const std::vector<std::string>& findings) {
  std::string out;
  for (const std::string& finding : findings) out.append(out.empty() ? "" : "\n").append(finding);
  return out;
}

}  // namespace

CallError::CallError(ErrorFields fields)
    : std::runtime_error(fields.type + ": " + fields.message), fields_(std::move(fields)) {}

std::int64_t CallError::number(const char* name) const {
  const auto at = fields_.details.find(name);
  return at != fields_.details.end() && at->is_number_integer() ? at->get<std::int64_t>() : -1;
}

std::string CallError::text(const char* name) const {
  const auto at = fields_.details.find(name);
  return at != fields_.details.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::vector<std::string> UnknownMethod::methods() const {
  std::vector<std::string> out;
  const auto at = fields().details.find("methods");
  if (at == fields().details.end() || !at->is_array()) return out;
  for (const Value& name : *at)
    if (name.is_string()) out.push_back(name.get<std::string>());
  return out;
}

BadArguments::BadArguments(std::string message)
    : CallError(detail::error_fields("BadArguments", std::move(message))) {}

BadSettings::BadSettings(std::vector<std::string> findings)
    : std::runtime_error(joined_findings(findings)), findings_(std::move(findings)) {}

void raise(ErrorFields fields) {
  for (const ErrorType& type : kTypes)
    if (type.name == fields.type) type.raise(std::move(fields));
  throw CallError(std::move(fields));
}

namespace detail {

ErrorFields error_fields(std::string_view type, std::string message) {
  return {std::string(type), std::move(message), Value::object()};
}

ErrorFields error_from(const Value& value) {
  if (!value.is_object() || !value.contains("type") || !value["type"].is_string())
    return error_fields("Protocol",
                        "an answer holds an error without a type, needed one of docs/calls.md; "
                        "both sides must speak the same protocol");
  ErrorFields out{value["type"].get<std::string>(), {}, Value::object()};
  for (const auto& [key, field] : value.items()) {
    if (key == "message" && field.is_string())
      out.message = field.get<std::string>();
    else if (key != "type")
      out.details[key] = field;
  }
  return out;
}

Value error_value(const ErrorFields& fields) {
  Value out = fields.details.is_object() ? fields.details : Value::object();
  out["type"] = fields.type;
  out["message"] = fields.message;
  return out;
}

}  // namespace detail
}  // namespace orrery::sdk
