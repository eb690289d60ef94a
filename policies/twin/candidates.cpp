#include "policies/twin/candidates.hpp"

#include <optional>
#include <utility>

namespace orrery::policies {
namespace {

constexpr std::string_view kBlank = " \t\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// Takes the text up to one of `ends`, and that.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::size_t end = text.find_first_of(ends);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

Error refused(const std::string& found, const std::string& remedy) {
  return {ErrorCode::InvalidInput, {}, 0, "policy.candidates", found + "; " + remedy};
}

bool is_name(std::string_view text) {
  return !text.empty() && text[0] >= 'a' && text[0] <= 'z' &&
         text.find('=') == std::string_view::npos;
}

std::optional<Error> read_one(std::string_view text, CandidateText& out) {
  out.policy = take_until(text, kBlank);
  while (!(text = trimmed(text)).empty()) {
    std::string_view word = take_until(text, kBlank);
    const std::string whole(word);
    const std::string key(take_until(word, "="));
    if (key.empty() || whole.find('=') == std::string::npos || word.empty())
      return refused("has \"" + whole + "\" after " + out.policy + ", a parameter is needed there",
                     "write for example las quantum=10min");
    if (!out.parameters.emplace(key, word).second)
      return refused("names " + key + " of " + out.policy + " twice", "remove one of them");
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<CandidateText>> parsed_candidates(std::string_view text) {
  std::vector<std::string> parts(1);
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(";,");
    parts.back() += text.substr(0, end);
    if (end == std::string_view::npos) break;
    const bool ends = text[end] == ';' || is_name(trimmed(text.substr(end + 1)).substr(0, 1));
    text.remove_prefix(end + 1);
    if (ends)
      parts.emplace_back();
    else
      parts.back() += ',';
  }
  std::vector<CandidateText> out;
  Errors errors;
  for (const std::string& part : parts) {
    const std::string_view one = trimmed(part);
    if (one.empty() && parts.size() > 1) continue;
    CandidateText candidate;
    if (!is_name(one.substr(0, one.find_first_of(kBlank)))) {
      errors.push_back(refused("has \"" + std::string(one) + "\", the name of a policy is needed",
                               "write for example \"fifo; las quantum=10min\""));
    } else if (auto error = read_one(one, candidate)) {
      errors.push_back(std::move(*error));
    } else {
      out.push_back(std::move(candidate));
    }
  }
  if (out.empty() && errors.empty())
    errors.push_back(refused("has no policy, one is needed at least",
                             "write for example \"fifo; las quantum=10min\""));
  if (!errors.empty()) return errors;
  return out;
}

std::string text_of(const CandidateText& candidate) {
  std::string text = candidate.policy;
  for (const auto& [key, value] : candidate.parameters) text += " " + key + "=" + value;
  return text;
}

}  // namespace orrery::policies
