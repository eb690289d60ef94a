// The program orrery-node: all that runs on the machines of a cluster, and the client. Works alone,
// and carries out the verbs that orrery hands to it.
#include "tools/node/node_program.hpp"
#include "tools/node/planner_process.hpp"

int main(int argc, char** argv) {
  return orrery::cli::run_node_program(argc, argv, orrery::cli::policy_of);
}
