// How jemalloc, which the programs of the simulators are linked with, keeps memory.

extern "C" {

/// Read by jemalloc when the program begins. A simulation has one thread, so one arena does; what
/// is free is given back to the system after a second, which holds the peak down.
extern const char* malloc_conf;
const char* malloc_conf = "narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
