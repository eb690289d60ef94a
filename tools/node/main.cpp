// The program orrery-node: all that runs on the machines of a cluster, and the client. Works alone,
// and carries out the verbs that orrery hands to it.
#include <vector>

#include "tools/client/verbs.hpp"
#include "tools/console/about_verbs.hpp"
#include "tools/console/program.hpp"
#include "tools/node_verbs/specs.hpp"

namespace orrery::cli {
namespace {

std::vector<Verb> verbs() {
  return {{.spec = submit_spec(), .run = run_submit},
          {.spec = apply_spec(), .run = run_apply},
          {.spec = get_spec(), .run = run_get},
          {.spec = describe_spec(), .run = run_describe},
          {.spec = logs_spec(), .run = run_logs},
          {.spec = scale_spec(), .run = run_scale},
          {.spec = stop_spec(), .run = run_stop},
          {.spec = delete_spec(), .run = run_delete},
          {.spec = events_spec(), .run = run_events},
          {.spec = top_spec(), .run = run_top},
          version_verb(),
          completion_verb(),
          help_verb()};
}

}  // namespace
}  // namespace orrery::cli

int main(int argc, char** argv) {
  const std::vector<orrery::cli::Verb> verbs = orrery::cli::verbs();
  return orrery::cli::run_program({.name = "orrery-node",
                                   .summary = "the part of orrery that runs on the machines of a "
                                              "cluster, and its client",
                                   .start_with = "  orrery-node get nodes\n",
                                   .beside = "orrery",
                                   .verbs = verbs},
                                  argc,
                                  argv);
}
