#include "runtime/http/submission.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "core/base/digest.hpp"
#include "core/base/json_text.hpp"
#include "core/control/requests.hpp"
#include "runtime/http/apply.hpp"
#include "runtime/http/request_batch.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::RequestOutcome;
using Then = ControlClient::Then;

constexpr std::size_t kUserBytesMax = 64;

/// One submission on its way.
struct Submission {
  CallPtr call;
  ControlClient client;
  std::vector<std::shared_ptr<const JobSpec>> specs;
  std::vector<std::string> warnings;
  std::string key;  ///< Of the client; empty: each try is another one.
  std::string user;

  std::uint64_t number(std::size_t index) const {
    return key.empty() ? 0 : request_number(key, index);
  }
};

using SubmissionPtr = std::shared_ptr<const Submission>;

/// What became of the first jobs of a submission, as many as were asked for.
using Outcomes = std::vector<RequestOutcome>;

bool is_accepted(const RequestOutcome& outcome) {
  return outcome.kind == RequestOutcome::Kind::Accepted;
}

// The jobs that are in.
void write_outcome(JsonText& json, const Submission& submission, const Outcomes& outcomes) {
  json.key("jobs").begin_array();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (!is_accepted(outcomes[i])) continue;
    json.begin_object().field("name", submission.specs[i]->name);
    if (const JobId job = outcomes[i].job; !job.is_none()) json.field("id", job.value);
    json.end_object();
  }
  json.end_array().key("warnings").begin_array();
  for (const std::string& warning : submission.warnings) json.value(warning);
  json.end_array();
}

void answer_accepted(const Submission& submission, const Outcomes& outcomes) {
  JsonText json;
  json.begin_object();
  write_outcome(json, submission, outcomes);
  json.end_object();
  submission.call->exchange->respond(json_response(json.take()));
}

void answer_refused(const Submission& submission,
                    int status,
                    const std::string& message,
                    const Outcomes& outcomes) {
  JsonText json;
  json.begin_object().key("error").begin_object().field("message", message).end_object();
  write_outcome(json, submission, outcomes);
  json.end_object();
  submission.call->exchange->respond(json_response(json.take(), status));
}

// Whether this very submission has brought the job in, at an earlier try.
bool is_in(const ControlView& view, const Submission& submission, std::size_t index) {
  const std::string& name = submission.specs[index]->name;
  return !view.state.submitted_by(submission.number(index), name).is_none();
}

// Whether a live job of another submission has the name.
bool is_taken(const ControlView& view, const Submission& submission, std::size_t index) {
  const JobState* job = view.state.find(view.state.named(submission.specs[index]->name));
  // What this very submission brought in may have ended, and the name may be another job's now.
  return job != nullptr && !is_final(job->row.phase) && !is_in(view, submission, index);
}

void on_outcomes(const SubmissionPtr& submission, const Outcomes& outcomes) {
  const auto wrong = std::find_if_not(outcomes.begin(), outcomes.end(), is_accepted);
  if (wrong == outcomes.end()) return answer_accepted(*submission, outcomes);
  // Those that were taken are in all the same.
  if (wrong->kind == RequestOutcome::Kind::Unavailable)
    return answer_refused(*submission, 503, wrong->message, outcomes);
  const auto index = static_cast<std::size_t>(wrong - outcomes.begin());
  submission->client.look(
      submission->call, [submission, outcomes, index](const ControlView& view) -> Then {
        const int status = is_taken(view, *submission, index) ? 409 : 422;
        return [=] { answer_refused(*submission, status, outcomes[index].message, outcomes); };
      });
}

void ask(const SubmissionPtr& submission) {
  std::vector<EventBody> requests;
  for (std::size_t i = 0; i < submission->specs.size(); ++i)
    requests.push_back(JobSubmitted{submission->number(i), submission->specs[i], submission->user});
  ask_all(submission->client,
          std::move(requests),
          BatchEnds::AtRefusal,
          [submission](const Outcomes& outcomes) { on_outcomes(submission, outcomes); });
}

// Who sends a job again takes this for a receipt of the first time: the job must not be lost then.
void refuse_taken(const SubmissionPtr& submission,
                  bool dry,
                  const std::vector<std::string>& taken) {
  const auto refuse = [submission, taken] {
    fail(submission->call,
         409,
         taken.front(),
         taken.size() == 1 ? std::vector<std::string>() : taken);
  };
  if (dry) return refuse();
  submission->client.settle(submission->call, refuse);
}

/// What stands against a submission before anything of it is asked for.
struct Objections {
  std::vector<std::string> taken;  ///< For each name that a live job has.
  Errors refused;                  ///< By the core.
};

// A text with one bad job leaves nothing behind: what the core would refuse is told before anything
// is asked for. What changes between here and there the core tells.
void begin(const SubmissionPtr& submission, bool dry) {
  const auto found = std::make_shared<Objections>();
  // A single job is whole as it is, and the core looks at it anyway.
  const bool judges = dry || submission->specs.size() > 1;
  const auto look = [=](const ControlView& view, std::size_t i) {
    const auto& spec = submission->specs[i];
    if (is_taken(view, *submission, i))
      found->taken.push_back(spec->name +
                             ": a live job has this name, names are unique; choose another, wait "
                             "for its end, or delete it");
    if (!judges || is_in(view, *submission, i)) return;
    if (std::string why = why_refused(view.state, spec); !why.empty())
      found->refused.push_back({ErrorCode::InvalidInput, {}, 0, {}, std::move(why)});
  };
  look_at_all(submission->client, submission->call, submission->specs.size(), look, [=] {
    if (!found->taken.empty()) return refuse_taken(submission, dry, found->taken);
    if (!found->refused.empty()) return fail(submission->call, 422, found->refused);
    if (!dry) return ask(submission);
    const RequestOutcome would{RequestOutcome::Kind::Accepted, JobId::none(), {}};
    answer_accepted(*submission, Outcomes(submission->specs.size(), would));
  });
}

// The submitting user, for people: the one that the token or the certificate names; where every
// process that can connect is an administrator, the one that the client names.
std::string user_of(const Call& call) {
  if (call.identity.name != kLocalName) return call.identity.name;
  std::string said(call.request.header("Orrery-User").substr(0, kUserBytesMax));
  const bool plain =
      std::all_of(said.begin(), said.end(), [](char c) { return c > ' ' && c <= '~'; });
  return plain ? said : std::string();
}

// Leaves out the jobs that are not named; false where the call was answered: there is none of a
// name.
bool keep_only(const CallPtr& call, ReadJobs& jobs, const std::vector<std::string>& names) {
  const auto is_wanted = [&](const JobSpec& spec) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return full_job_name(name) == spec.name;
    });
  };
  for (const std::string& name : names) {
    const bool there = std::any_of(jobs.jobs.begin(), jobs.jobs.end(), [&](const JobSpec& spec) {
      return spec.name == full_job_name(name);
    });
    if (there) continue;
    fail(call, 400, "query only: the text has no job " + full_job_name(name));
    return false;
  }
  if (!names.empty())
    std::erase_if(jobs.jobs, [&](const JobSpec& spec) { return !is_wanted(spec); });
  return true;
}

/// What is to be done with the jobs of a text.
struct Wish {
  std::vector<std::string> only;  ///< Names; empty: all.
  bool dry = false;
  bool apply = false;
  std::string key;
};

// The text was read, with the nodes of the cluster where it speaks of them.
void take(const CallPtr& call, const ControlClient& client, const Wish& wish, ReadJobs jobs) {
  if (!keep_only(call, jobs, wish.only)) return;
  std::vector<std::shared_ptr<const JobSpec>> specs;
  for (JobSpec& spec : jobs.jobs) specs.push_back(std::make_shared<const JobSpec>(std::move(spec)));
  if (wish.apply)
    return apply_jobs(
        call,
        client,
        {std::move(specs), std::move(jobs.warnings), wish.key, user_of(*call), wish.dry});
  begin(std::make_shared<const Submission>(Submission{
            call, client, std::move(specs), std::move(jobs.warnings), wish.key, user_of(*call)}),
        wish.dry);
}

void read_text(const CallPtr& call,
               const std::shared_ptr<TextReader>& reader,
               const JobText& text,
               TextReader::Done done) {
  if (!reader->read(text, std::move(done)))
    fail(call,
         503,
         "more than " + std::to_string(kTextsWaitingMax) +
             " texts wait to be read; ask again in a moment");
}

}  // namespace

std::uint64_t request_number(std::string_view key, std::size_t index) {
  Digester digest;
  digest.update(std::as_bytes(std::span(key)));
  return std::max<std::uint64_t>(1, digest.finish().low + index);
}

void read_jobs(const CallPtr& call,
               const ControlClient& client,
               const std::shared_ptr<TextReader>& reader,
               const JobText& text,
               std::function<void(ReadJobs)> then) {
  if (!reader->can_read()) return fail(call, 501, "this server reads no job files");
  const auto pass_on = [call, then = std::move(then)](Result<ReadJobs> jobs) {
    if (!jobs) return fail(call, 400, jobs.errors());
    if (jobs->jobs.empty()) return fail(call, 400, "the text has no job; send a job file");
    then(std::move(*jobs));
  };
  read_text(call, reader, text, [=](Result<ReadJobs> jobs) {
    if (!jobs || !jobs->needs_nodes) return pass_on(std::move(jobs));
    client.look(call, [=](const ControlView& view) -> Then {
      JobText again = text;
      again.nodes = view.state.declared;
      return [=, again = std::move(again)] { read_text(call, reader, again, pass_on); };
    });
  });
}

void submit(const CallPtr& call,
            const ControlClient& client,
            const std::shared_ptr<TextReader>& reader) {
  JobText text;
  text.file = call->query.take("file").value_or("");
  text.sets = call->query.take_all("set");
  Wish wish;
  wish.only = call->query.take_all("only");
  wish.dry = call->query.take_flag("dry_run");
  wish.apply = call->query.take_flag("apply");
  std::string key(call->request.header("Idempotency-Key"));
  if (const auto request = call->query.take("request"); request && *request != "0")
    key = "request " + *request;
  if (!query_is_sound(call, "file, set (PATH=VALUE), only (NAME), dry_run, apply, request")) return;
  if (key.size() > kKeyBytesMax)
    return fail(call,
                400,
                "the Idempotency-Key, or request of the query, is longer than 256 bytes; send a "
                "shorter one");
  if (!key.empty()) wish.key = call->identity.name + "\n" + key;
  text.text = std::move(call->request.body);
  read_jobs(call, client, reader, text, [=](ReadJobs jobs) {
    take(call, client, wish, std::move(jobs));
  });
}

}  // namespace orrery::http
