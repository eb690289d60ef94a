#include "tools/node/node_program.hpp"

#include <vector>

#include "tools/certs/certs_specs.hpp"
#include "tools/certs/certs_verbs.hpp"
#include "tools/client/verbs.hpp"
#include "tools/console/about_verbs.hpp"
#include "tools/console/program.hpp"
#include "tools/node/forecast_process.hpp"
#include "tools/node/planner_process.hpp"
#include "tools/node/verbs.hpp"
#include "tools/node_verbs/specs.hpp"

namespace orrery::cli {
namespace {

std::vector<Verb> verbs() {
  return {{.spec = controller_spec(), .run = run_controller},
          {.spec = agent_spec(), .run = run_agent},
          {.spec = up_spec(), .run = run_up},
          {.spec = run_spec(), .run = run_run},
          {.spec = submit_spec(), .run = run_submit},
          {.spec = apply_spec(), .run = run_apply},
          {.spec = get_spec(), .run = run_get},
          {.spec = describe_spec(), .run = run_describe},
          {.spec = logs_spec(), .run = run_logs},
          {.spec = scale_spec(), .run = run_scale},
          {.spec = stop_spec(), .run = run_stop},
          {.spec = delete_spec(), .run = run_delete},
          {.spec = exclude_spec(), .run = run_exclude},
          {.spec = include_spec(), .run = run_include},
          {.spec = events_spec(), .run = run_events},
          {.spec = top_spec(), .run = run_top},
          {.spec = forecast_spec(), .run = run_forecast},
          {.spec = accuracy_spec(), .run = run_accuracy},
          {.spec = calibrate_spec(), .run = run_calibrate},
          {.spec = certs_init_spec(), .run = run_certs_init},
          {.spec = certs_controller_spec(), .run = run_certs_controller},
          {.spec = certs_agent_spec(), .run = run_certs_agent},
          {.spec = certs_user_spec(), .run = run_certs_user},
          {.spec = certs_admin_spec(), .run = run_certs_admin},
          {.spec = certs_token_spec(), .run = run_certs_token},
          {.spec = certs_show_spec(), .run = run_certs_show},
          version_verb(),
          completion_verb(),
          help_verb()};
}

}  // namespace

int run_node_program(int argc, char** argv, const runtime::MakePolicy& make) {
  if (is_planner(argc, argv)) return runtime::serve_plans(runtime::kPlannerFd, make);
  if (is_forecaster(argc, argv)) return serve_forecasts(make);
  const std::vector<Verb> known = verbs();
  return run_program({.name = "orrery-node",
                      .summary = "the part of orrery that runs on the machines of a "
                                 "cluster, and its client",
                      .start_with = "  orrery-node up\n",
                      .beside = "orrery",
                      .verbs = known,
                      .version = this_version()},
                     argc,
                     argv);
}

}  // namespace orrery::cli
