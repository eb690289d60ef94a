// Ctrl-C and SIGTERM as a flag, so that work in progress can clean up first.
#pragma once

namespace orrery::cli {

/// From now on SIGINT and SIGTERM only set the flag. A second SIGINT ends the program at once.
void catch_interrupts();

/// Back to the system's own handling; for child processes.
void release_interrupts();

bool interrupted();

}  // namespace orrery::cli
