#include "tools/orrery/kept_runs.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <variant>

#include "core/base/bytes.hpp"
#include "core/base/stream_text.hpp"
#include "tools/console/version.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/simgrid_parts.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// Files and folders that the scenario names; empty names among them.
std::vector<std::string> paths_of(const scenarios::Scenario& scenario) {
  std::vector<std::string> paths{scenario.network.platform};
  if (scenario.failures.lanl) paths.push_back(scenario.failures.lanl->file);
  if (const auto* w = std::get_if<scenarios::PolluxWorkload>(&scenario.workload))
    paths.insert(paths.end(), {w->file, w->profiles});
  if (const auto* w = std::get_if<scenarios::PolluxWorkload>(&scenario.workload))
    for (const auto& [model, folder] : w->profiles_by_model) paths.push_back(folder);
  if (const auto* w = std::get_if<scenarios::TraceWorkload>(&scenario.workload))
    paths.insert(paths.end(), {w->file, w->throughputs});
  if (const auto* w = std::get_if<scenarios::ShockwaveWorkload>(&scenario.workload))
    paths.insert(paths.end(), {w->file, w->throughputs});
  if (const auto* w = std::get_if<scenarios::BatsimWorkload>(&scenario.workload))
    paths.insert(paths.end(), {w->file, w->events});
  // Its files name others, which lie beside it or below its root.
  if (const auto* w = std::get_if<scenarios::ElastisimWorkload>(&scenario.workload))
    paths.insert(paths.end(), {fs::path(w->file).parent_path().string(), w->root});
  return paths;
}

/// Size and time of change, of a folder those of all files below it.
void add_stamp(const fs::path& path, ByteWriter& bytes) {
  std::error_code code;
  std::vector<fs::path> files{path};
  if (fs::is_directory(path, code)) {
    files.clear();
    for (fs::recursive_directory_iterator at(path, code), end; !code && at != end;
         at.increment(code))
      if (at->is_regular_file(code)) files.push_back(at->path());
    std::sort(files.begin(), files.end());
  }
  for (const fs::path& file : files) {
    bytes.string(file.string());
    bytes.varint(fs::file_size(file, code));
    bytes.signed_varint(fs::last_write_time(file, code).time_since_epoch().count());
  }
}

void add_program(ByteWriter& bytes) {
  bytes.string(this_version().number);
  bytes.string(this_version().revision);
  add_stamp("/proc/self/exe", bytes);
  if (const std::string module = simgrid_module_path(); !module.empty()) add_stamp(module, bytes);
}

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return rest_of(in).value_or("");
}

}  // namespace

Digest program_digest() {
  ByteWriter bytes;
  add_program(bytes);
  return digest_of(bytes.text());
}

Digest input_digest(const scenarios::Scenario& scenario,
                    const std::vector<scenarios::Override>& overrides) {
  ByteWriter bytes;
  add_program(bytes);
  bytes.string(content_of(scenario.file));
  for (const scenarios::Override& each : overrides) {
    bytes.string(each.path);
    bytes.string(each.value);
  }
  for (const std::string& path : paths_of(scenario))
    if (!path.empty()) add_stamp(path, bytes);
  return digest_of(bytes.text());
}

std::optional<TaskEnd> KeptRuns::find(const std::string& name) const {
  const std::string text = content_of(folder_ / name);
  ByteReader in(std::string_view{text});
  TaskEnd end;
  const std::string input(in.string());
  end.code = static_cast<ExitCode>(in.u8());
  end.wall_s = in.f64();
  end.result = in.string();
  if (!in.finished() || input != input_.to_hex()) return std::nullopt;
  return end;
}

void KeptRuns::keep(const std::string& name, const TaskEnd& end) const {
  ByteWriter bytes;
  bytes.string(input_.to_hex());
  bytes.u8(static_cast<std::uint8_t>(end.code));
  bytes.f64(end.wall_s);
  bytes.string(end.result);
  std::error_code code;
  fs::create_directories(folder_, code);
  (void)write_file(folder_ / name, bytes.text());  // Without it, it is run again.
}

void KeptRuns::remove() const {
  std::error_code code;
  fs::remove_all(folder_, code);
}

}  // namespace orrery::cli
