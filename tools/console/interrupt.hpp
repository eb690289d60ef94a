// Ctrl-C and SIGTERM as a flag, so that work in progress can clean up first.
#pragma once

#include <signal.h>

namespace orrery::cli {

/// From now on SIGINT and SIGTERM only set the flag. A second SIGINT ends the program at once.
void catch_interrupts();

/// Back to the system's own handling; for child processes.
void release_interrupts();

/// From now on SIGINT and SIGTERM end the program at once, with the code of an interrupt.
void exit_at_interrupt();

bool interrupted();

/// SIGINT and SIGTERM, for those that wait for them.
sigset_t interrupt_signals();

}  // namespace orrery::cli
