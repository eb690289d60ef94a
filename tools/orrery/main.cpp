// The orrery program: the simulators and what stands around them. Verbs that deal with a running
// controller are carried out by the program orrery-node in the same folder, scenarios in world
// cluster by orrery-cluster, which is this program with more in it.
#include "tools/console/program.hpp"
#include "tools/orrery/verb_functions.hpp"

int main(int argc, char** argv) {
  return orrery::cli::run_program(
      {.name = "orrery",
       .summary = "the control plane for elastic GPU training jobs, run in a "
                  "simulator before production",
       .start_with = "  orrery compare scenarios/quickstart.yaml --policies fifo,easy,srtf,las\n",
       .beside = "orrery-node",
       .instead = orrery::cli::program_instead,
       .verbs = orrery::cli::verbs(),
       .version = orrery::cli::this_version()},
      argc,
      argv);
}
