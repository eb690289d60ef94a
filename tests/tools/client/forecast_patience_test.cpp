// How long a forecast is waited for.
#include <gtest/gtest.h>

#include "tools/client/forecast_reading.hpp"
#include "tools/client/session.hpp"
#include "tools/node_verbs/specs.hpp"

namespace orrery::cli {
namespace {

using namespace std::chrono_literals;

Client client_of(const std::vector<std::string>& words) {
  const auto arguments = parse_arguments(run_spec(), words);
  EXPECT_TRUE(arguments);
  const auto options = client_options(*arguments);
  EXPECT_TRUE(options);
  return Client(*options);
}

TEST(ForecastPatience, AForecastHasLongerThanTheControllerGivesIt) {
  const HttpRequest forecast = hypothetical({.path = "job.yaml"}, {});
  const Client usual = client_of({"train.py"});
  EXPECT_EQ(usual.time_for({.target = "/api/v1/jobs"}), 10s);
  EXPECT_EQ(usual.time_for(forecast), 60s);
}

TEST(ForecastPatience, ATimeoutThatIsWishedHoldsForAll) {
  const HttpRequest forecast = hypothetical({.path = "job.yaml"}, {});
  EXPECT_EQ(client_of({"--timeout", "3", "train.py"}).time_for(forecast), 3s);
}

}  // namespace
}  // namespace orrery::cli
