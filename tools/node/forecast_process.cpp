#include "tools/node/forecast_process.hpp"

#include <string_view>
#include <utility>

#include "runtime/forecast/serve_forecasts.hpp"
#include "sim/rehearsal/answer.hpp"

namespace orrery::cli {
namespace {

constexpr std::string_view kForecastWord = "serve-forecasts";

}  // namespace

bool is_forecaster(int argc, char** argv) { return argc == 2 && kForecastWord == argv[1]; }

int serve_forecasts(const runtime::MakePolicy& make) {
  return runtime::serve_forecasts(
      runtime::kPlannerFd,
      [&make](
          Controller from, const runtime::PolicySpec& policy, const ForecastQuestion& question) {
        sim::ForecastMeans means;
        means.policy = [&] { return make(policy); };
        return sim::answer(std::move(from), question, means);
      });
}

runtime::ForecastDeskOptions forecast_options(const runtime::ControllerConfig& config) {
  runtime::ForecastDeskOptions out;
  // Not the path that the link stands for: after an upgrade another program is there.
  out.helper.program = {"/proc/self/exe", std::string(kForecastWord)};
  out.helper.policy = {config.policy, config.policy_parameters, config.settings.seed};
  out.helper.deadline = config.forecast.deadline;
  out.helper.memory = config.forecast.memory;
  out.refresh = config.forecast.refresh;
  out.records_max = config.forecast.records;
  out.book = config.forecast.accuracy_file;
  if (out.book.empty() && config.store.etcd_endpoints.empty())
    out.book = config.store.sqlite + ".forecasts";
  return out;
}

}  // namespace orrery::cli
