// orrery-check-cuda: matrix products on a GPU, sums by NCCL; the twin of orrery-check.
#include "runtime/workers/check/check_program.hpp"
#include "runtime/workers/cuda/cuda_compute.hpp"
#include "runtime/workers/nccl/nccl_collective.hpp"
#include "runtime/workers/resolve_names.hpp"

int main(int argc, char** argv) {
  using orrery::worker::Compute, orrery::worker::Options, orrery::worker::Start;
  const orrery::worker::CheckProgram program{
      "orrery-check-cuda",
      4096,
      [](const Options& options, const Start& start) {
        return orrery::worker::make_cuda_compute(options.size, start.place.rank, start.device);
      },
      {orrery::worker::nccl_backend(), orrery::worker::ring_backend()},
      orrery::worker::resolve_names};
  return orrery::worker::run_check(program,
                                   std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
}
