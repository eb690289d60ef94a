#include "tools/client/job_sources.hpp"

#include <sys/random.h>

#include <map>

#include "scenarios/language/jobs/job_file.hpp"
#include "tools/console/input_file.hpp"
#include "tools/documents/rlinf_documents.hpp"

namespace orrery::cli {
namespace {

/// A number that no other request has.
std::uint64_t fresh_number() {
  std::uint64_t number = 0;
  while (number == 0)
    if (getrandom(&number, sizeof number, 0) != sizeof number) number = 0;
  return number;
}

Result<std::string> job_of_document(const std::string& path,
                                    const std::string& text,
                                    const ReadDocument& read) {
  if (read) return read(path, text);
  return Error{
      .file = path,
      .subject = "document",
      .message = "is of RLinf, a job file is needed here; write the job with orrery place " + path +
                 " --as job --command ..., or give it to orrery submit"};
}

}  // namespace

Result<std::vector<JobSource>> read_job_sources(const std::vector<std::string>& paths,
                                                const std::vector<std::string>& sets,
                                                Errors& warnings,
                                                const ReadDocument& read_document) {
  std::vector<JobSource> out;
  std::map<std::string, std::string> file_of;  // By name of a job.
  Errors errors;
  scenarios::JobFileOptions options;
  options.other_priority_classes = true;
  if (!sets.empty() && paths.size() > 1)
    errors.push_back({.file = "--set " + sets.front(),
                      .subject = "override",
                      .message = "is given with " + std::to_string(paths.size()) +
                                 " files, one is needed; submit the file that it means alone"});
  for (const std::string& set : sets) {
    if (auto parsed = scenarios::parse_override(set)) {
      options.overrides.push_back(std::move(*parsed));
    } else {
      errors.insert(errors.end(), parsed.errors().begin(), parsed.errors().end());
    }
  }
  for (const std::string& path : paths) {
    const std::string file = path == "-" ? "standard input" : path;
    Result<std::string> text = read_input_or_stdin(path);
    if (!text) {
      errors.insert(errors.end(), text.errors().begin(), text.errors().end());
      continue;
    }
    const bool is_document = is_rlinf_text(*text);
    if (is_document) text = job_of_document(path, *text, read_document);
    if (!text) {
      errors.insert(errors.end(), text.errors().begin(), text.errors().end());
      continue;
    }
    Result<scenarios::JobFile> jobs =
        scenarios::parse_job_file(*text, file, is_document ? scenarios::JobFileOptions{} : options);
    if (!jobs) {
      errors.insert(errors.end(), jobs.errors().begin(), jobs.errors().end());
      continue;
    }
    warnings.insert(warnings.end(), jobs->warnings.begin(), jobs->warnings.end());
    for (const JobSpec& spec : jobs->jobs)
      if (const auto [at, fresh] = file_of.emplace(spec.name, file); !fresh)
        errors.push_back({.file = file,
                          .subject = "job " + spec.name,
                          .message = "the name stands in " + at->second +
                                     " too, needed names that differ; rename one of them"});
    out.push_back({path,
                   std::move(*text),
                   is_document ? std::vector<std::string>{} : sets,
                   std::move(jobs->jobs)});
  }
  if (!errors.empty()) return errors;
  return out;
}

HttpRequest submission(const JobSource& source, const SubmissionAction& action) {
  std::string target = "/api/v1/jobs?request=" + std::to_string(fresh_number()) +
                       "&file=" + url_escaped(source.path);
  for (const std::string& set : source.sets) target += "&set=" + url_escaped(set);
  if (action.apply) target += "&apply=1";
  if (action.dry_run) target += "&dry_run=1";
  return {.method = "POST",
          .target = std::move(target),
          .body = source.text,
          .content_type = "application/yaml"};
}

bool check_sources(Session& session,
                   const std::vector<JobSource>& sources,
                   SubmissionAction action) {
  std::size_t jobs = 0;
  for (const JobSource& source : sources) jobs += source.jobs.size();
  // One job is checked as it is taken.
  if (jobs < 2) return true;
  action.dry_run = true;
  bool sound = true;
  for (const JobSource& source : sources) {
    const Result<HttpReply> reply = session.client().send(submission(source, action));
    if (!reply) {
      session.tell(reply.errors());
      return false;
    }
    // Jobs that apply leaves as they are do not hold up the others.
    if (reply->is_good() || (action.apply && reply->status == 409)) continue;
    session.tell(*reply, source.path);
    if (session.code() == ExitCode::Unreachable) return false;
    sound = false;
  }
  return sound;
}

}  // namespace orrery::cli
