// Broken files, each with the text of all its errors beside it.
//
// A folder per reader; `x.yaml` has its golden text in `x.yaml.expected`, a folder of profiles `x`
// in `x.expected`. After a change of a text that is meant, write the golden texts anew and read the
// difference before it is committed:
//
//   ORRERY_BLESS=1 ctest --preset release -R bad_input
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "scenarios/language/loader.hpp"
#include "sim/import/batsim_events.hpp"
#include "sim/import/batsim_jobs.hpp"
#include "sim/import/elastisim_file.hpp"
#include "sim/pollux/profiles.hpp"
#include "sim/pollux/workload.hpp"
#include "sim/traces/formats.hpp"
#include "sim/traces/gavel_throughputs.hpp"
#include "sim/traces/lanl_failures.hpp"
#include "sim/traces/node_list.hpp"
#include "sim/traces/philly_csv.hpp"
#include "sim/traces/philly_json.hpp"
#include "tests/support/text_of_file.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

template <class T>
Errors errors_of(const Result<T>& result) {
  return result ? Errors{} : result.errors();
}

/// The format of a folder's traces, whose names have dashes.
std::string format_of(std::string reader) {
  std::replace(reader.begin(), reader.end(), '_', '-');
  return reader;
}

/// A folder is a trace with its tables beside it, the first of which is that of the jobs.
Errors read_broken_trace(const sim::TraceFormat& format, const std::string& path) {
  const std::string file = fs::is_directory(path) ? path + "/pai_job_table.csv" : path;
  return errors_of(sim::read_trace(
      format,
      file,
      text_of_file(file),
      "",
      {},
      [](const std::string& table, std::string_view) -> Result<std::string> {
        if (fs::exists(table)) return text_of_file(table);
        return Error{.code = ErrorCode::NotFound, .file = table, .message = "is not there"};
      }));
}

/// A workload that is read must be playable as well.
Errors read_batsim(const std::string& text, const std::string& path) {
  const auto file = sim::parse_batsim(text, path);
  return file ? errors_of(sim::BatsimJobs::plan(*file, {})) : file.errors();
}

/// What the reader of the file's folder has to say. Paths are relative to the repository.
Errors read_broken(const std::string& reader, const std::string& path) {
  if (reader == "scenario") return errors_of(scenarios::load_scenario(path));
  if (reader == "philly_csv") return errors_of(sim::parse_philly_csv(text_of_file(path), path));
  if (reader == "philly_json") return errors_of(sim::parse_philly_json(text_of_file(path), path));
  if (reader == "openb_nodes") return errors_of(sim::parse_openb_nodes(text_of_file(path), path));
  if (reader == "pai_machines") return errors_of(sim::parse_pai_machines(text_of_file(path), path));
  if (reader == "gavel_throughputs")
    return errors_of(sim::parse_gavel_throughputs(text_of_file(path), path));
  if (const auto* format = sim::find_trace_format(format_of(reader)))
    return read_broken_trace(*format, path);
  if (reader == "batsim") return read_batsim(text_of_file(path), path);
  if (reader == "batsim_strict")
    return errors_of(sim::parse_batsim(text_of_file(path), path, sim::BatsimNames::Strict));
  if (reader == "batsim_events")
    return errors_of(sim::parse_batsim_events(text_of_file(path), path));
  if (reader == "elastisim_jobs")
    return errors_of(sim::parse_elastisim_jobs(text_of_file(path), path));
  if (reader == "elastisim_application")
    return errors_of(sim::parse_elastisim_application(text_of_file(path), path));
  if (reader == "lanl_csv") return errors_of(sim::parse_lanl_failures(text_of_file(path), path));
  if (reader == "pollux_profiles") return errors_of(sim::read_pollux_profiles(path));
  const auto profiles = sim::read_pollux_profiles("tests/system/bad_input/tiny_profiles");
  if (!profiles) return profiles.errors();
  return errors_of(sim::read_pollux_workload(path, *profiles));
}

struct BrokenFile {
  std::string reader;
  std::string path;
};

std::vector<BrokenFile> broken_files() {
  std::vector<BrokenFile> files;
  const fs::path root = fs::path(ORRERY_SOURCE_ROOT) / "tests/system/bad_input";
  for (const char* reader : {"scenario",
                             "acme",
                             "batsim",
                             "batsim_events",
                             "batsim_strict",
                             "elastisim_application",
                             "elastisim_jobs",
                             "gavel",
                             "gavel_throughputs",
                             "helios",
                             "lanl_csv",
                             "openb",
                             "openb_nodes",
                             "orrery",
                             "pai",
                             "pai_machines",
                             "pai_sample",
                             "philly_csv",
                             "philly_json",
                             "pollux_workload",
                             "pollux_profiles",
                             "swf"})
    for (const auto& entry : fs::directory_iterator(root / reader))
      if (entry.path().extension() != ".expected")
        files.push_back({reader, fs::relative(entry.path(), ORRERY_SOURCE_ROOT).string()});
  std::sort(files.begin(), files.end(), [](const BrokenFile& a, const BrokenFile& b) {
    return a.path < b.path;
  });
  return files;
}

class BadInput : public testing::TestWithParam<BrokenFile> {};

TEST_P(BadInput, GetsItsGoldenErrors) {
  fs::current_path(ORRERY_SOURCE_ROOT);  // So that no path of this machine enters the texts.
  const auto& [reader, path] = GetParam();
  std::string text;
  for (const Error& error : read_broken(reader, path)) text += error.text() + "\n";
  const std::string golden = path + ".expected";
  if (std::getenv("ORRERY_BLESS") != nullptr) {
    std::ofstream(golden, std::ios::binary) << text;
    GTEST_SKIP() << "wrote " << golden;
  }
  ASSERT_NE(text, "") << path << " is not broken";
  EXPECT_EQ(text, text_of_file(golden));
}

INSTANTIATE_TEST_SUITE_P(Files,
                         BadInput,
                         testing::ValuesIn(broken_files()),
                         [](const testing::TestParamInfo<BrokenFile>& file) {
                           std::string name = file.param.path.substr(
                               std::string_view("tests/system/bad_input/").size());
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

TEST(BadInputFiles, AreThirtyAtLeast) { EXPECT_GE(broken_files().size(), 30U); }

}  // namespace
}  // namespace orrery
