// Members of a JSON document that came from outside: what is missing or of another kind reads as
// nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace orrery::cli {

/// The member; null where there is none.
const nlohmann::json& member_of(const nlohmann::json& object, const char* key);
const nlohmann::json& member_of(nlohmann::json&& object, const char* key) = delete;

/// The member where it is an array; else an empty one.
const nlohmann::json& list_of(const nlohmann::json& object, const char* key);
const nlohmann::json& list_of(nlohmann::json&& object, const char* key) = delete;

/// A string as it is, a number or truth in digits or words, else nothing.
std::string text_of(const nlohmann::json& object, const char* key);

/// The same to be shown to people, with no control characters but newline and tab.
std::string shown_text_of(const nlohmann::json& object, const char* key);

std::int64_t number_of(const nlohmann::json& object, const char* key);
double real_of(const nlohmann::json& object, const char* key);
bool truth_of(const nlohmann::json& object, const char* key);

}  // namespace orrery::cli
