#include "tools/orrery/recorded_journal.hpp"

#include <utility>

#include "runtime/store/sqlite_store.hpp"

namespace orrery::cli {

Result<sim::RecordedRun> recorded_journal(const std::string& path,
                                          std::vector<sim::RunListener*> listeners) {
  auto store = runtime::SqliteStore::open(path, runtime::SqliteStore::Access::ReadOnly);
  if (!store) return store.errors();
  if ((*store)->first() != Sequence{1})
    return Error{.file = path,
                 .message = "its records up to " + std::to_string((*store)->first().value - 1) +
                            " were dropped, all are needed; keep them with store.pruning: keep or "
                            "archive"};
  auto run = sim::read_recorded_run(**store, path, std::move(listeners));
  if (run) return run;
  Errors errors = run.errors();
  for (Error& error : errors)
    if (error.file.empty()) error.file = path;
  return errors;
}

}  // namespace orrery::cli
