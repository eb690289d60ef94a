#include "policies/twin/twin_making.hpp"

#include <set>
#include <utility>

#include "core/queues/queue_text.hpp"
#include "policies/twin/candidates.hpp"
#include "policies/twin/twin.hpp"

namespace orrery::policies {
namespace {

Error refused(const std::string& message) {
  return {ErrorCode::InvalidInput, {}, 0, "policy.candidates", message};
}

/// The candidate, or what is wrong with it.
Result<TwinCandidate> candidate_of(const CandidateText& text, const PolicyArguments& arguments) {
  if (text.policy == "twin")
    return refused("has twin itself, policies that decide alone are needed; remove it");
  PolicyArguments own = arguments;
  own.rehearsal = nullptr;
  const auto queues = own.parameters.extract(std::string(kQueuesParameter));
  own.parameters = text.parameters;
  if (!queues.empty()) own.parameters.emplace(kQueuesParameter, queues.mapped());
  if (auto made = make_policy(text.policy, own); !made) {
    Errors errors = made.errors();
    for (Error& error : errors) {
      const std::string parameter =
          error.subject.starts_with("policy.") ? error.subject.substr(7) + " of " : "";
      error.message = "has a candidate whose " +
                      (parameter.empty() ? "name " : parameter + text.policy + " ") + error.message;
      error.subject = "policy.candidates";
    }
    return errors;
  }
  return TwinCandidate{text_of(text), [policy = text.policy, own] {
                         return std::move(make_policy(policy, own).value());
                       }};
}

}  // namespace

Result<std::unique_ptr<Policy>> make_twin(const ParameterValues& values,
                                          const PolicyArguments& arguments) {
  TwinParameters parameters;
  parameters.period = values.duration("period");
  parameters.pause_max = values.integer("pause_max");
  parameters.events_max = static_cast<std::uint64_t>(values.integer("events_max"));
  parameters.margin = values.number("margin");
  parameters.restart = values.duration("restart");
  parameters.seed = arguments.seed;
  Errors errors;
  if (const auto objective = enum_from<TwinObjective>(values.text("objective")))
    parameters.objective = *objective;
  else
    errors.push_back({ErrorCode::InvalidInput,
                      {},
                      0,
                      "policy.objective",
                      "is \"" + values.text("objective") + "\", one of " +
                          enum_choices<TwinObjective>() + " is needed; choose one"});
  const auto texts = parsed_candidates(values.text("candidates"));
  if (!texts) errors.insert(errors.end(), texts.errors().begin(), texts.errors().end());
  if (!texts) return errors;
  std::vector<TwinCandidate> candidates;
  std::set<std::string> names;
  for (const CandidateText& text : *texts) {
    auto made = candidate_of(text, arguments);
    if (!made) {
      errors.insert(errors.end(), made.errors().begin(), made.errors().end());
    } else if (!names.insert(made->name).second) {
      errors.push_back(refused("has " + made->name + " twice; remove one of them"));
    } else {
      candidates.push_back(std::move(*made));
    }
  }
  if (!errors.empty()) return errors;
  return std::unique_ptr<Policy>(
      std::make_unique<Twin>(parameters, std::move(candidates), arguments.rehearsal));
}

}  // namespace orrery::policies
