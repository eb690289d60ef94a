// A file of jobs may be any bytes: it gives jobs that are sound, or errors with words, and never
// throws.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/invariant.hpp"
#include "scenarios/language/jobs/job_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)orrery::scenarios::kind_of_file(text);
  const auto file = orrery::scenarios::parse_job_file(text, "fuzz.yaml");
  if (!file) {
    for (const orrery::Error& error : file.errors())
      invariant(!error.message.empty(), "every error has words");
    return 0;
  }
  invariant(!file->jobs.empty(), "a file that is sound has a job");
  for (const orrery::JobSpec& job : file->jobs) {
    invariant(orrery::check_spec(job).empty(), "jobs are sound");
    for (const orrery::RoleSpec& role : job.roles)
      invariant(!role.command.empty(), "every role has a command");
  }
  return 0;
}
