// orrery-worker-static: matrix products on the CPU, the ring, and nothing to install.
#include "runtime/workers/cpu_compute.hpp"
#include "runtime/workers/program.hpp"

int main(int argc, char** argv) {
  using orrery::worker::Compute, orrery::worker::Options, orrery::worker::Start;
  const orrery::worker::Program program{
      "orrery-worker-static",
      [](const Options& options, const Start& start) -> orrery::Result<std::unique_ptr<Compute>> {
        return orrery::worker::make_cpu_compute(options.size, start.place.rank);
      },
      {orrery::worker::ring_backend()},
      orrery::worker::resolve_numeric};
  return orrery::worker::run_program(program,
                                     std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
}
