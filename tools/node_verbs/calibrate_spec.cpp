#include "tools/node_verbs/client_options.hpp"
#include "tools/node_verbs/specs.hpp"

namespace orrery::cli {

VerbSpec calibrate_spec() {
  return {
      .name = "calibrate",
      .operands = "",
      .summary = "learn what starting, stopping and saving take, for simulators",
      .details =
          "Writes a calibration file, which a scenario reads by its key calibration: starts, "
          "stops, "
          "restores and pauses\nwith their spread, checkpoints, and the policy's latency. With "
          "--from it learns from journals, as orrery\nhistory takes them: every time is told with "
          "the error that it has for samples that were held out, of several\njournals each in "
          "turn, "
          "of one every second sample. Without --from it measures the cluster of the running\n"
          "controller by jobs of orrery-worker: starts, stops and changes of membership, "
          "checkpoints, all-reduces by size\nand ranks, and the compute rate of devices. What was "
          "not seen or measured is said, and left out of the file.",
      .options = with_client_options(
          {{.name = "--from",
            .value = "JOURNAL",
            .help = "learn from this journal, ask no controller; of several all count",
            .repeatable = true,
            .takes_path = true},
           {.name = "--ranks",
            .value = "LIST",
            .help = "numbers of ranks that are measured (default: 1,2,4)"},
           {.name = "--starts", .value = "N", .help = "jobs of each number of ranks (default: 3)"},
           {.name = "--rounds",
            .value = "N",
            .help = "all-reduces of each size, and products (default: 20)"},
           {.name = "--size",
            .value = "M",
            .help = "of the matrices; the largest all-reduce has 4 M^2 bytes (default: 512)"},
           {.name = "--devices",
            .value = "N",
            .help = "devices of each rank (default: 0, on the CPU)"},
           {.name = "--worker",
            .value = "PROGRAM",
            .help =
                "as the nodes find it (default: orrery-worker, of a controller on this machine the "
                "one beside this program; on GPUs orrery-worker-cuda)"},
           {.name = "--out",
            .value = "FILE",
            .help = "where the calibration is written (default: calibration.yaml)",
            .takes_path = true},
           {.name = "--json", .help = "print one JSON document, and nothing else"}}),
      .examples = {{"orrery calibrate --from state/journal.db", "from what a controller has run"},
                   {"orrery calibrate --from monday.db --from tuesday.db --out measured.yaml",
                    "from two days, each foretold by the other"},
                   {"orrery calibrate --ranks 1,2 --starts 1 --out measured.yaml",
                    "the cluster of the running controller, measured"},
                   {"orrery sim train.yaml --set calibration=measured.yaml",
                    "a scenario with the times of that cluster"}}};
}

}  // namespace orrery::cli
