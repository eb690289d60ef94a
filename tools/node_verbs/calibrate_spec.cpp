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
          "restores and pauses\nwith their spread, checkpoints, and the policy's latency. Every "
          "time is told with the error that it has\nfor samples that were held out: of several "
          "journals each in turn, of one every second sample. What was\nnot seen is said, and left "
          "out of the file. JOURNAL is as for orrery history.",
      .options = {{.name = "--from",
                   .value = "JOURNAL",
                   .help = "learn from this journal; of several all count",
                   .repeatable = true,
                   .takes_path = true},
                  {.name = "--out",
                   .value = "FILE",
                   .help = "where the calibration is written (default: calibration.yaml)",
                   .takes_path = true},
                  {.name = "--json", .help = "print one JSON document, and nothing else"}},
      .examples = {{"orrery calibrate --from state/journal.db", "from what a controller has run"},
                   {"orrery calibrate --from monday.db --from tuesday.db --out measured.yaml",
                    "from two days, each foretold by the other"},
                   {"orrery sim train.yaml --set calibration=measured.yaml",
                    "a scenario with the times of that cluster"}}};
}

}  // namespace orrery::cli
