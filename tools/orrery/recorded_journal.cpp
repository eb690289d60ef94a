#include "tools/orrery/recorded_journal.hpp"

#include <utility>

namespace orrery::cli {

using runtime::SqliteStore;

Result<std::unique_ptr<SqliteStore>> whole_journal(const std::string& path) {
  auto store = SqliteStore::open(path, SqliteStore::Access::ReadOnly);
  if (!store || (*store)->first() == Sequence{1}) return store;
  return Error{.file = path,
               .message = "its records up to " + std::to_string((*store)->first().value - 1) +
                          " were dropped, all are needed; take a journal that has them"};
}

Result<sim::RecordedRun> recorded_journal(SqliteStore& store,
                                          const std::string& path,
                                          std::vector<sim::RunListener*> listeners) {
  auto run = sim::read_recorded_run(store, path, std::move(listeners));
  if (run) return run;
  Errors errors = run.errors();
  for (Error& error : errors)
    if (error.file.empty()) error.file = path;
  return errors;
}

Result<sim::RecordedRun> recorded_journal(const std::string& path,
                                          std::vector<sim::RunListener*> listeners) {
  const auto store = whole_journal(path);
  if (!store) return store.errors();
  return recorded_journal(**store, path, std::move(listeners));
}

}  // namespace orrery::cli
