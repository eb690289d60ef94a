// orrery-check: matrix products on the CPU; the twin of orrery-check-cuda.
#include "runtime/workers/check/check_program.hpp"
#include "runtime/workers/cpu_compute.hpp"
#include "runtime/workers/resolve_names.hpp"

int main(int argc, char** argv) {
  using orrery::worker::Compute, orrery::worker::Options, orrery::worker::Start;
  const orrery::worker::CheckProgram program{
      "orrery-check",
      256,
      [](const Options& options, const Start& start) -> orrery::Result<std::unique_ptr<Compute>> {
        return orrery::worker::make_cpu_compute(options.size, start.place.rank);
      },
      {orrery::worker::ring_backend()},
      orrery::worker::resolve_names};
  return orrery::worker::run_check(program,
                                   std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
}
