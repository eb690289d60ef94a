// The candidates of a policy that holds several, as text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace orrery::policies {

/// The parameter that holds the text.
inline constexpr std::string_view kCandidatesParameter = "candidates";

/// One candidate as it is written: "las quantum=10min".
struct CandidateText {
  std::string policy;
  std::map<std::string, std::string> parameters;
};

/// Reads "fifo; las quantum=10min": policies with their parameters, between semicolons. A comma
/// stands for a semicolon where a name of a policy follows it, so that plain lists of names can be
/// written either way. Errors have the subject "policy.candidates".
Result<std::vector<CandidateText>> parsed_candidates(std::string_view text);

/// One candidate as it is written, parameters by name.
std::string text_of(const CandidateText& candidate);

}  // namespace orrery::policies
