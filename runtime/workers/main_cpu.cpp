// orrery-worker: matrix products on the CPU; the twin of orrery-worker-cuda.
#include "runtime/workers/cpu_compute.hpp"
#include "runtime/workers/program.hpp"
#include "runtime/workers/resolve_names.hpp"
#ifdef ORRERY_HAS_GLOO
#include "runtime/workers/gloo/gloo_collective.hpp"
#endif

namespace {

std::vector<orrery::worker::Backend> backends() {
  std::vector<orrery::worker::Backend> out;
#ifdef ORRERY_HAS_GLOO
  out.push_back(orrery::worker::gloo_backend());
#endif
  out.push_back(orrery::worker::ring_backend());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  using orrery::worker::Compute, orrery::worker::Options, orrery::worker::Start;
  const orrery::worker::Program program{
      "orrery-worker",
      [](const Options& options, const Start& start) -> orrery::Result<std::unique_ptr<Compute>> {
        return orrery::worker::make_cpu_compute(options.size, start.place.rank);
      },
      backends(),
      orrery::worker::resolve_names};
  return orrery::worker::run_program(program,
                                     std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
}
