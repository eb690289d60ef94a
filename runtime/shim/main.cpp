// orrery-shim FOLDER [NOTIFY [KEPT]]: keeps the worker of a folder; see shim.hpp. KEPT descriptors
// after NOTIFY stay open as long as the worker lives. Started by agents only.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "runtime/shim/shim.hpp"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "orrery-shim: found " << argc - 1
              << " arguments, needed the folder of a worker; agents start this program\n";
    return 2;
  }
  const int notify = argc >= 3 ? std::atoi(argv[2]) : -1;
  const int kept = argc == 4 ? std::atoi(argv[3]) : 0;
  // Nothing else of the agent's is kept open, and nothing of it by the worker.
  if (notify > 3) close_range(3, static_cast<unsigned>(notify) - 1, 0);
  close_range(notify >= 3 ? static_cast<unsigned>(notify + kept) + 1 : 3, ~0U, 0);
  return orrery::runtime::Shim(argv[1], notify, kept).run();
}
