#include "tools/client/json_reading.hpp"

#include "tools/console/printable.hpp"

namespace orrery::cli {

using nlohmann::json;

const json& member_of(const json& object, const char* key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto at = object.find(key);
  return at == object.end() ? kNothing : *at;
}

const json& list_of(const json& object, const char* key) {
  static const json kEmpty = json::array();
  const json& member = member_of(object, key);
  return member.is_array() ? member : kEmpty;
}

std::string text_of(const json& object, const char* key) {
  const json& member = member_of(object, key);
  if (member.is_string()) return member.get<std::string>();
  return member.is_number() || member.is_boolean() ? member.dump() : "";
}

std::string shown_text_of(const json& object, const char* key) {
  return printable(text_of(object, key));
}

std::int64_t number_of(const json& object, const char* key) {
  const json& member = member_of(object, key);
  return member.is_number() ? member.get<std::int64_t>() : 0;
}

double real_of(const json& object, const char* key) {
  const json& member = member_of(object, key);
  return member.is_number() ? member.get<double>() : 0;
}

bool truth_of(const json& object, const char* key) {
  const json& member = member_of(object, key);
  return member.is_boolean() && member.get<bool>();
}

}  // namespace orrery::cli
