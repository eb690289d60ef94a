#include "runtime/http/body_fields.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace orrery::http {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShownBytes = 80;
constexpr int kDepthMax = 32;

Error bad(std::string subject, std::string message) {
  return {ErrorCode::InvalidInput, {}, 0, std::move(subject), std::move(message)};
}

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kShownBytes) text = text.substr(0, kShownBytes) + "...";
  return text;
}

// Whether brackets outside of strings stand in each other too deeply: what writes a value calls
// itself for each level.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDepthMax) return true;
  }
  return false;
}

Result<Json> read_object(std::string_view text) {
  if (is_too_deep(text))
    return bad(
        "body",
        "is nested more than " + std::to_string(kDepthMax) + " levels deep; send a plain object");
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json::object();
  // Of two values under one key the parser takes the last; which one is meant is not known.
  std::vector<std::set<std::string>> keys;
  std::string doubled;  // As it is shown.
  const auto look = [&](int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      doubled = shown(parsed);
    return true;
  };
  // Not the parser that throws, but its place of failure would be lost without the exception.
  try {
    Json out = Json::parse(text, look);
    if (!doubled.empty()) return bad("body", doubled + " stands there twice; give it once");
    if (out.is_object()) return out;
    return bad("body", "found " + shown(out) + ", a JSON object is needed");
  } catch (const Json::exception& why) {
    return bad("body", std::string("is no JSON: ") + why.what() + "; send a JSON object");
  }
}

bool is_whole(const Json& value) {
  if (value.is_number_unsigned())
    return value.get<std::uint64_t>() <=
           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_integer()) return true;
  return value.is_number_float() && value.get<double>() == std::floor(value.get<double>()) &&
         std::abs(value.get<double>()) < 9e15;
}

}  // namespace

Result<BodyFields> BodyFields::read(std::string_view text) {
  Result<Json> object = read_object(text);
  if (!object) return object.errors();
  BodyFields out;
  for (const auto& [name, value] : object->items()) {
    Field& field = out.fields_.emplace_back();
    field.name = name;
    field.text = shown(value);
    if (value.is_string()) {
      field.kind = Kind::Text;
      field.text = value.get<std::string>();
    } else if (value.is_boolean()) {
      field.kind = Kind::Flag;
      field.flag = value.get<bool>();
    } else if (is_whole(value)) {
      field.kind = Kind::Whole;
      field.whole = value.is_number_float() ? static_cast<std::int64_t>(value.get<double>())
                                            : value.get<std::int64_t>();
    }
  }
  return out;
}

BodyFields::Field* BodyFields::find(std::string_view name) {
  for (Field& field : fields_) {
    if (field.name != name) continue;
    field.taken = true;
    return &field;
  }
  return nullptr;
}

void BodyFields::note(const Field& field, const std::string& needed) {
  // The quotes tell "2" from 2.
  const std::string found =
      field.kind == Kind::Text ? shown(field.text) : field.text.substr(0, kShownBytes);
  errors_.push_back(bad(field.name, "found " + found + ", " + needed + " is needed"));
}

std::optional<std::string> BodyFields::take_text(std::string_view name) {
  const Field* field = find(name);
  if (field == nullptr) return std::nullopt;
  if (field->kind == Kind::Text) return field->text;
  note(*field, "a text");
  return std::nullopt;
}

std::optional<std::int64_t> BodyFields::take_number(std::string_view name,
                                                    std::int64_t low,
                                                    std::int64_t high) {
  const Field* field = find(name);
  if (field == nullptr) return std::nullopt;
  if (field->kind == Kind::Whole && field->whole >= low && field->whole <= high)
    return field->whole;
  note(*field, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return std::nullopt;
}

bool BodyFields::take_flag(std::string_view name) {
  const Field* field = find(name);
  if (field == nullptr) return false;
  if (field->kind == Kind::Flag) return field->flag;
  note(*field, "true or false");
  return false;
}

Errors BodyFields::errors(std::string_view known) const {
  Errors out = errors_;
  for (const Field& field : fields_)
    if (!field.taken) out.push_back(bad(field.name, "unknown; known here: " + std::string(known)));
  return out;
}

Result<std::vector<std::pair<std::string, double>>> read_numbers(std::string_view text) {
  Result<Json> object = read_object(text);
  if (!object) return object.errors();
  const bool wrapped =
      object->size() == 1 && object->contains("data") && (*object)["data"].is_object();
  const Json& numbers = wrapped ? (*object)["data"] : *object;
  std::vector<std::pair<std::string, double>> out;
  Errors errors;
  for (const auto& [name, value] : numbers.items()) {
    if (value.is_number()) {
      out.emplace_back(name, value.get<double>());
    } else {
      errors.push_back(
          bad(name.empty() ? "\"\"" : name,
              "found " + shown(value) + ", a number is needed; profilings are numbers"));
    }
  }
  if (!errors.empty()) return errors;
  return out;
}

}  // namespace orrery::http
