// calibrate: measures the cluster of a running controller by jobs of its own.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/client/all_reduce_fit.hpp"
#include "tools/client/json_reading.hpp"
#include "tools/client/measured_calibration.hpp"
#include "tools/client/probe_jobs.hpp"
#include "tools/client/session.hpp"
#include "tools/client/verbs.hpp"
#include "tools/console/calibration_table.hpp"
#include "tools/console/whole_file.hpp"

namespace orrery::cli {
namespace {

using nlohmann::json;

constexpr std::int32_t kRanksMax = 512;

/// "1,2,4".
Result<std::vector<std::int32_t>> ranks_of(const std::string& text) {
  std::vector<std::int32_t> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::int32_t value = 0;
    const auto [stop, code] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (code != std::errc() || stop != text.data() + end || value < 1 || value > kRanksMax)
      return Error{.subject = "--ranks",
                   .message = "is '" + text + "', whole numbers from 1 to " +
                              std::to_string(kRanksMax) + " are needed; write for example 1,2,4"};
    out.push_back(value);
    begin = end + 1;
  }
  return out;
}

Result<ProbePlan> plan_of(const Arguments& arguments) {
  ProbePlan plan;
  Errors errors;
  const auto read = [&](const char* option, std::int32_t low, std::int32_t high, std::int32_t& to) {
    const auto text = arguments.value(option);
    if (!text) return;
    const auto value = whole_number(std::string("orrery calibrate: ") + option,
                                    *text,
                                    static_cast<std::uint64_t>(low),
                                    static_cast<std::uint64_t>(high));
    if (value)
      to = static_cast<std::int32_t>(*value);
    else
      errors.insert(errors.end(), value.errors().begin(), value.errors().end());
  };
  read("--starts", 1, 1000, plan.starts);
  read("--rounds", 1, 100'000, plan.rounds);
  read("--size", 16, 16'384, plan.size);
  read("--devices", 0, 64, plan.devices);
  if (const auto worker = arguments.value("--worker")) plan.worker = *worker;
  if (const auto text = arguments.value("--ranks")) {
    const auto ranks = ranks_of(*text);
    if (ranks)
      plan.ranks = *ranks;
    else
      errors.insert(errors.end(), ranks.errors().begin(), ranks.errors().end());
  }
  if (!errors.empty()) return errors;
  return plan;
}

/// On this machine the worker beside this program, where there is one: it need not be in a PATH.
std::string worker_for(const ServerAddress& server, const std::string& worker) {
  std::error_code code;
  if (!server.is_local() || worker.find('/') != worker.npos) return worker;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", code).parent_path() / worker;
  return std::filesystem::exists(beside, code) ? beside.string() : worker;
}

/// The models of the cluster's devices; empty: it has none.
std::vector<std::string> device_models(Session& session) {
  std::vector<std::string> out;
  for (const json& node : session.ask_list("nodes")) {
    const std::string model = text_of(node, "device_model");
    if (number_of(node, "devices") > 0 && std::ranges::find(out, model) == out.end())
      out.push_back(model);
  }
  return out;
}

Error cannot_be_written(const std::string& path) {
  return {.file = path, .message = "cannot be written; check the folder and its rights"};
}

/// Before anything is measured. A file that is not there is not made.
Status check_writable(const std::string& path) {
  if (path.empty())
    return Error{.subject = "orrery calibrate: --out",
                 .message =
                     "is empty, the file to write is needed; write for example "
                     "--out measured.yaml"};
  const std::filesystem::path file(path);
  std::error_code code;
  const bool is_there = std::filesystem::exists(file, code);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  if (is_there ? !std::filesystem::is_directory(file, code) && ::access(path.c_str(), W_OK) == 0
               : std::filesystem::is_directory(folder, code) &&
                     ::access(folder.c_str(), W_OK | X_OK) == 0)
    return Done{};
  return cannot_be_written(path);
}

Status write_text(const std::string& path, const std::string& text) {
  if (write_whole_file(path, text)) return Done{};
  return cannot_be_written(path);
}

}  // namespace

ExitCode run_calibrate(const Arguments& arguments, Console& console) {
  const auto options = client_options(arguments);
  auto plan = plan_of(arguments);
  if (!options) console.errors(options.errors());
  if (!plan) console.errors(plan.errors());
  const std::string file = arguments.value("--out").value_or("calibration.yaml");
  const Status writable = check_writable(file);
  if (!writable) console.errors(writable.errors());
  if (!options || !plan || !writable) return ExitCode::BadInput;
  plan->worker = worker_for(options->server, plan->worker);
  Session session(*options, console);
  const std::vector<std::string> models = device_models(session);
  if (session.code() != ExitCode::Met) return session.code();
  ProbeReport report = run_probes(session, *plan);
  if (session.code() != ExitCode::Met) return session.code();
  const MeasuredCalibration measured = measured_calibration(std::move(report), *plan, models);
  const std::string source = "the cluster of " + options->server.text();
  if (const Status written = write_text(file, measured.yaml(source)); !written) {
    console.errors(written.errors());
    return ExitCode::BadInput;
  }
  if (arguments.has("--json")) {
    console.out(measured.json(file));
    return ExitCode::Met;
  }
  console.out(calibration_table(measured.rows(), console.traits()));
  for (const std::string& remark : measured.remarks) console.err("remark: " + remark + "\n");
  console.err("wrote " + file + "; a scenario reads it by calibration: " + file + "\n");
  return ExitCode::Met;
}

}  // namespace orrery::cli
