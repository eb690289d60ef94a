#include "policies/gavel_making.hpp"

#include <cstddef>
#include <utility>

namespace orrery::policies {
namespace {

/// Whether the rule has the parameter `centred`.
bool has_spare_shares(SharingRule rule) {
  return rule == SharingRule::MaxMin || rule == SharingRule::MaxMinTypeBlind ||
         rule == SharingRule::MaxSum || rule == SharingRule::Makespan ||
         rule == SharingRule::FinishTimeFair;
}

}  // namespace

Result<Duration> choose_ahead_of(const ParameterValues& values) {
  const Duration ahead = values.duration("choose_ahead");
  const Duration round = values.duration("round");
  const std::int64_t second = Duration::seconds(1).ns;
  const bool is_whole = ahead.ns % second == 0 && (ahead.ns == 0 || round.ns % second == 0);
  if (ahead < round && is_whole) return ahead;
  return Error{ErrorCode::InvalidInput,
               {},
               0,
               "policy.choose_ahead",
               "needs to be shorter than a round, and both whole seconds; choose for example half "
               "of the round"};
}

Result<std::unique_ptr<Policy>> make_gavel(std::string_view name,
                                           SharingRule rule,
                                           const ParameterValues& values,
                                           const PolicyArguments& arguments) {
  const bool is_fifo = rule == SharingRule::Fifo;
  Gavel::Options options{.name = name,
                         .rule = rule,
                         .rounds = {.round = values.duration("round"),
                                    .reset = values.duration("reset"),
                                    .only_shared = is_fifo,
                                    .newcomers_run = is_fifo || values.flag("newcomers"),
                                    .at_once = !is_fifo && values.flag("at_once")},
                         .speeds = arguments.models.speeds,
                         .speeds_of = arguments.models.speeds_of,
                         .epochs = arguments.models.epochs,
                         .centred = has_spare_shares(rule) && values.flag("centred"),
                         .seed = arguments.seed};
  if (!is_fifo) {
    const Result<Duration> ahead = choose_ahead_of(values);
    if (!ahead) return ahead.errors();
    options.choose_ahead = ahead.value();
  }
  if (rule == SharingRule::MaxMin || rule == SharingRule::MaxMinTypeBlind)
    options.water_filling = values.flag("water_filling");
  if (rule == SharingRule::MaxMinPacked || rule == SharingRule::Gandiva)
    options.beside = values.number("beside");
  if (rule == SharingRule::MaxMinPacked)
    options.pairs_most = static_cast<std::size_t>(values.integer("pairs_most"));
  if (rule == SharingRule::AlloX)
    options.allox = {.considered = values.number("considered"),
                     .depth = static_cast<std::size_t>(values.integer("depth"))};
  return std::unique_ptr<Policy>(std::make_unique<Gavel>(std::move(options)));
}

}  // namespace orrery::policies
