#include "tools/client/torchrun_options.hpp"

#include <array>
#include <span>
#include <string_view>

namespace orrery::cli {
namespace {

/// Options that are let be for the same reason.
struct LetBe {
  std::span<const std::string_view> options;
  std::string_view why;
};

constexpr std::array<std::string_view, 6> kRendezvous{"--rdzv-backend",
                                                      "--rdzv-endpoint",
                                                      "--rdzv-conf",
                                                      "--master-addr",
                                                      "--master-port",
                                                      "--local-addr"};
constexpr std::array<std::string_view, 1> kNodeRank{"--node-rank"};
constexpr std::array<std::string_view, 8> kProcesses{"--monitor-interval",
                                                     "--start-method",
                                                     "--event-log-handler",
                                                     "--numa-binding",
                                                     "--signals-to-handle",
                                                     "--shutdown-timeout",
                                                     "--run-path",
                                                     "--virtual-local-rank"};
constexpr std::array<std::string_view, 4> kLogs{
    "--log-dir", "--redirects", "--tee", "--logs-specs"};

constexpr std::array<LetBe, 4> kAll{{
    {kRendezvous, "the controller tells every rank where rank 0 listens"},
    {kNodeRank, "the controller gives the nodes their ranks"},
    {kProcesses, "the agents of the nodes start and watch the processes"},
    {kLogs, "what ranks write is printed here, and orrery logs prints what their nodes keep"},
}};

}  // namespace

std::vector<std::string> torchrun_notes(const Arguments& arguments) {
  std::vector<std::string> out;
  for (const LetBe& reason : kAll) {
    std::string names;
    int count = 0;
    for (const std::string_view option : reason.options) {
      if (!arguments.has(option)) continue;
      names += (names.empty() ? "" : ", ") + std::string(option);
      ++count;
    }
    if (count > 0)
      out.push_back(names + (count > 1 ? " mean" : " means") +
                    " nothing here: " + std::string(reason.why));
  }
  return out;
}

Errors torchrun_contradictions(const Arguments& arguments) {
  const auto rank = arguments.value("--node-rank");
  if (!rank || rank == "0") return {};
  return {{.subject = "orrery run: --node-rank",
           .message = "\"" + *rank +
                      "\" found, but this command is given once for all nodes, not on each: a "
                      "second one would start the program twice; give it on one machine alone, "
                      "without --node-rank"}};
}

}  // namespace orrery::cli
