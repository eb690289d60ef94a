// test: runs scenarios and checks their expectations.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_text.hpp"
#include "tools/console/interrupt.hpp"
#include "tools/console/table.hpp"
#include "tools/orrery/junit.hpp"
#include "tools/orrery/output_folder.hpp"
#include "tools/orrery/pool_progress.hpp"
#include "tools/orrery/scenario_runs.hpp"
#include "tools/orrery/storm_runs.hpp"
#include "tools/orrery/verb_functions.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

/// What became of one scenario.
struct Verdict {
  std::string file;
  ExitCode code = ExitCode::Met;
  std::vector<std::string> findings;  ///< Unmet expectations, or errors.
  std::vector<std::string> remarks;   ///< What was found in tries before this one.
  sim::Summary summary;               ///< Without a policy where it did not run.
  double wall_s = 0;

  bool passed() const { return code == ExitCode::Met; }
};

/// Every .yaml file below the operands, each once, in the order of the operands, folders sorted.
Result<std::vector<std::string>> scenario_files(const std::vector<std::string>& operands) {
  std::vector<std::string> files;
  Errors errors;
  for (const std::string& operand : operands) {
    std::error_code code;
    if (!fs::is_directory(operand, code)) {
      files.push_back(operand);
      continue;
    }
    std::vector<std::string> below;
    fs::recursive_directory_iterator at(operand, code);
    for (const fs::recursive_directory_iterator end; !code && at != end; at.increment(code))
      if (std::error_code no_matter;
          at->path().extension() == ".yaml" && at->is_regular_file(no_matter))
        below.push_back(at->path().string());
    if (code) {
      errors.push_back({.file = operand,
                        .message = "not all of it can be read (" + code.message() +
                                   "), needed every folder below it; give leave to read it, or "
                                   "name the folders that are meant"});
      continue;
    }
    std::ranges::sort(below);
    if (below.empty())
      errors.push_back({.file = operand,
                        .message = "no .yaml file below it, needed at least one scenario; name "
                                   "another folder"});
    files.insert(files.end(), below.begin(), below.end());
  }
  std::vector<std::string> once;
  for (std::string& file : files)
    if (std::ranges::find(once, file) == once.end()) once.push_back(std::move(file));
  if (!errors.empty()) return errors;
  return once;
}

/// The name of each file's folder below --keep: its own, or its whole path where several have that.
std::vector<std::string> kept_names(const std::vector<std::string>& files) {
  std::map<std::string, int> counts;
  for (const std::string& file : files) ++counts[fs::path(file).stem().string()];
  std::vector<std::string> out;
  for (const std::string& file : files) {
    std::string name = fs::path(file).stem().string();
    if (counts[name] > 1) {
      name.clear();
      for (const fs::path& part : fs::path(file).lexically_normal().replace_extension())
        if (part != "/") name += (name.empty() ? "" : "-") + part.string();
    }
    out.push_back(std::move(name));
  }
  return out;
}

/// Runs a scenario with `invariants` under the storm's checker; what broke is what is unmet.
ExitCode test_invariants(const scenarios::Scenario& scenario, ChildReport& report) {
  const sim::StormReport storm = storm_once(scenario);
  if (storm.violations.empty()) return ExitCode::Met;
  RunAnswer answer;
  for (const sim::Violation& violation : storm.violations)
    answer.summary.unmet.push_back(
        scenario.file + ":0: run: " + std::string(to_string(violation.kind)) + " at " +
        with_commas(violation.at.in_seconds(), 3) + " s: " + violation.text);
  send_answer(answer, report);
  return ExitCode::InvariantBroken;
}

/// Loads inside the task: a broken scenario fails alone.
ExitCode test_one(const std::string& file,
                  const std::vector<scenarios::Override>& overrides,
                  const RunOutputs& outputs,
                  ChildReport& report) {
  const auto loaded = open_scenario(file, overrides);
  if (loaded && loaded->scenario.invariants)
    if (const ExitCode code = test_invariants(loaded->scenario, report); code != ExitCode::Met)
      return code;
  if (loaded) return run_one(loaded->scenario, loaded->workload, outputs, report);
  RunAnswer answer;
  answer.errors = loaded.errors();
  send_answer(answer, report);
  return ExitCode::BadInput;
}

/// A sentence that begins with a place, from the line on: where the file lies is of no matter.
std::string_view from_line(std::string_view sentence, std::string_view base_name) {
  const std::size_t at = sentence.find(base_name);
  return at == sentence.npos ? sentence : sentence.substr(at + base_name.size());
}

/// Whether a scenario that must fail missed what the file beside it says, where there is one.
bool misses_as_recorded(const std::string& file, const std::vector<std::string>& unmet) {
  std::ifstream in(fs::path(file).replace_extension(".unmet"), std::ios::binary);
  if (!in) return true;
  const std::string base_name = fs::path(file).filename().string();
  std::vector<std::string> recorded;
  for (std::string line; std::getline(in, line);) recorded.push_back(std::move(line));
  return std::ranges::equal(unmet, recorded, [&](const std::string& a, const std::string& b) {
    return from_line(a, base_name) == from_line(b, base_name);
  });
}

Verdict verdict_of(const std::string& file, const TaskEnd& end) {
  const RunAnswer answer = answer_of(end);
  Verdict verdict{
      file, end.code, answer.summary.unmet, answer.tries_before, answer.summary, end.wall_s};
  if (answer.failed_as_wanted && end.code == ExitCode::Met) {
    if (misses_as_recorded(file, answer.summary.unmet)) {
      verdict.findings.clear();
    } else {
      verdict.code = ExitCode::Unmet;
      verdict.findings.emplace_back("must fail, but otherwise than " +
                                    fs::path(file).replace_extension(".unmet").string() + " says");
    }
  }
  for (const Error& error : answer.errors) verdict.findings.push_back(error.text());
  if (end.code == ExitCode::NoProgress)
    verdict.findings.insert(verdict.findings.end(), answer.warnings.begin(), answer.warnings.end());
  return verdict;
}

std::string json_of(const std::vector<Verdict>& verdicts, std::size_t passed) {
  JsonText json(JsonText::Layout::Indented);
  json.begin_object().key("scenarios").begin_array();
  for (const Verdict& verdict : verdicts) {
    json.begin_object().field("file", verdict.file).field("passed", verdict.passed());
    json.field("exit_code", static_cast<int>(verdict.code)).key("unmet").begin_array();
    for (const std::string& finding : verdict.findings) json.value(finding);
    json.end_array().end_object();
  }
  json.end_array().field("passed", passed).field("failed", verdicts.size() - passed);
  json.end_object();
  return json.take() + "\n";
}

std::string text_of(const std::vector<Verdict>& verdicts, std::size_t passed) {
  std::string out;
  for (const Verdict& verdict : verdicts) {
    out += (verdict.passed() ? "pass  " : "FAIL  ") + verdict.file + "\n";
    for (const std::string& finding : verdict.findings) out += "      " + finding + "\n";
    for (const std::string& remark : verdict.remarks) out += "      remark: " + remark + "\n";
  }
  return out + std::to_string(passed) + " passed, " + std::to_string(verdicts.size() - passed) +
         " failed\n";
}

/// In the words of CI systems. What a run was is known where it came to its end.
TestCase case_of(const Verdict& verdict) {
  TestCase out{.file = verdict.file, .findings = verdict.findings, .wall_s = verdict.wall_s};
  const sim::Summary& summary = verdict.summary;
  if (!summary.policy.empty())
    out.properties = {{"seed", std::to_string(summary.seed)},
                      {"world", summary.world},
                      {"policy", summary.policy},
                      {"state_digest", summary.state_digest}};
  switch (verdict.code) {
    case ExitCode::Met:
      break;
    case ExitCode::Unmet:
      out.result = CaseResult::Failed;
      out.kind = "unmet expectation";
      break;
    case ExitCode::NoProgress:
      out.result = CaseResult::Failed;
      out.kind = "no progress";
      break;
    case ExitCode::BadInput:
      out.result = CaseResult::Broken;
      out.kind = "bad input";
      break;
    default:
      out.result = CaseResult::Broken;
      out.kind = "invariant broken";
  }
  return out;
}

/// The instant in UTC, to the second.
std::string now_in_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

/// The report that --junit asks for: seen to be writable before anything runs, written at the end.
class JunitFile {
 public:
  /// Errors: the file cannot be written, or is one of `read`. `path` may be nothing: no report is
  /// wanted.
  static Result<JunitFile> prepare(const std::optional<std::string>& path,
                                   const std::vector<std::string>& read) {
    JunitFile file;
    if (!path) return file;
    std::error_code code;
    for (const std::string& other : read)
      if (fs::equivalent(*path, other, code))
        return Error{.subject = "--junit",
                     .message = "is " + *path +
                                ", a scenario that is to run, and would write over it; name "
                                "another file"};
    if (path->empty())
      return Error{.subject = "--junit",
                   .message = "is empty, needed the name of a file to write the report to"};
    const bool was_there = fs::exists(*path, code);
    errno = 0;
    if (!std::ofstream(*path, std::ios::binary | std::ios::app))
      return Error{.subject = "--junit",
                   .message = "is " + *path + ", which cannot be written (" +
                              (errno == 0 ? "it is no file" : std::strerror(errno)) +
                              "), a file in a folder that is there is needed; make the folder, or "
                              "name another file"};
    if (!was_there) fs::remove(*path, code);  // An empty one would look like a report.
    file.path_ = *path;
    return file;
  }

  Status write(const std::vector<Verdict>& verdicts) const {
    if (path_.empty()) return Done{};
    std::vector<TestCase> cases;
    for (const Verdict& verdict : verdicts) cases.push_back(case_of(verdict));
    return write_file(path_, junit_xml(cases, began_));
  }

 private:
  std::string path_;
  std::string began_ = now_in_utc();
};

}  // namespace

ExitCode run_test(const Arguments& arguments, Console& console) {
  const auto files = scenario_files(arguments.operands());
  const auto overrides = overrides_of(arguments);
  const auto junit =
      JunitFile::prepare(arguments.value("--junit"), files ? *files : std::vector<std::string>{});
  Errors errors;
  if (!files) append(errors, files.errors());
  if (!overrides) append(errors, overrides.errors());
  if (!junit) append(errors, junit.errors());
  if (arguments.has("--fidelity") && arguments.value("--world") == "cluster")
    errors.push_back({.subject = "--fidelity",
                      .message = "stands beside --world cluster, where nothing is modelled but "
                                 "compute; drop one"});
  if (arguments.has("--keep") && arguments.value("--world").value_or("cluster") != "cluster")
    errors.push_back({.subject = "--keep",
                      .message = "stands beside --world " + *arguments.value("--world") +
                                 ", where there are no journals and logs to keep; drop it, or run "
                                 "in world cluster"});
  if (!errors.empty()) {
    console.errors(errors);
    return ExitCode::BadInput;
  }
  std::vector<Task> tasks;
  const std::vector<std::string> names = kept_names(*files);
  for (std::size_t i = 0; i < files->size(); ++i)
    tasks.push_back([&, i](ChildReport& report) {
      RunOutputs outputs;
      outputs.same_decisions = arguments.has("--same-decisions");
      if (const auto keep = arguments.value("--keep")) outputs.kept = fs::path(*keep) / names[i];
      return test_one((*files)[i], *overrides, outputs, report);
    });
  // Real time is mostly waited for.
  const bool in_real_time = arguments.value("--world") == "cluster";
  const auto ends =
      run_with_bar(tasks, in_real_time ? processors() * 3 : processors(), 0, "test", console);
  if (interrupted()) return ExitCode::Interrupted;
  std::vector<Verdict> verdicts;
  ExitCode worst = ExitCode::Met;
  std::size_t passed = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    verdicts.push_back(verdict_of((*files)[i], ends[i]));
    worst = std::max(worst, verdicts.back().code);
    passed += verdicts.back().passed() ? 1 : 0;
  }
  console.out(arguments.has("--json") ? json_of(verdicts, passed) : text_of(verdicts, passed));
  const auto ran_in_cluster = [](const Verdict& verdict) {
    return verdict.summary.world == "cluster";
  };
  if (arguments.has("--keep") && std::ranges::none_of(verdicts, ran_in_cluster))
    console.err(
        std::string("remark: --keep has kept nothing, for no scenario ran in world cluster") +
        (in_real_time ? "\n" : "; add --world cluster\n"));
  if (const Status written = junit->write(verdicts); !written) {
    console.errors(written.errors());
    worst = std::max(worst, ExitCode::BadInput);
  }
  return worst;
}

}  // namespace orrery::cli
