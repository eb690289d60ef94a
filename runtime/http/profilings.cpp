#include "runtime/http/profilings.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/json_text.hpp"
#include "core/base/number_text.hpp"
#include "runtime/http/body_fields.hpp"

namespace orrery::http {
namespace {

using runtime::ControlView;
using runtime::RequestOutcome;
using Then = ControlClient::Then;
using Numbers = std::vector<std::pair<std::string, double>>;

constexpr std::size_t kKeysMax = 64;  // Of one job, as the core keeps them.
constexpr std::size_t kProfilingKeyBytesMax = 128;

// "7-3-0" as three numbers.
std::optional<std::array<std::uint32_t, 3>> worker_parts(std::string_view text) {
  std::array<std::uint32_t, 3> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string_view part = text.substr(0, text.find('-'));
    const std::optional<std::uint32_t> number = parsed_number<std::uint32_t>(part);
    if (!number) return std::nullopt;
    out[i] = *number;
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  if (!text.empty()) return std::nullopt;
  return out;
}

// Why the job cannot take these keys; empty where it can.
std::string too_many(const JobState& job, const Numbers& numbers) {
  std::size_t keys = job.profilings->size();
  for (const auto& number : numbers) {
    const bool known = std::any_of(job.profilings->begin(),
                                   job.profilings->end(),
                                   [&](const ProfilingSeries& s) { return s.key == number.first; });
    if (!known) ++keys;
  }
  if (keys <= kKeysMax) return {};
  return job.spec->name + " would have " + std::to_string(keys) + " profilings, at most " +
         std::to_string(kKeysMax) + " keys are kept; send fewer";
}

bool keys_are_sound(const CallPtr& call, const Numbers& numbers) {
  Errors errors;
  for (const auto& [key, value] : numbers)
    if (key.empty() || key.size() > kProfilingKeyBytesMax)
      errors.push_back({ErrorCode::InvalidInput,
                        {},
                        0,
                        "profiling '" + key.substr(0, kProfilingKeyBytesMax) + "'",
                        "a key has 1 to " + std::to_string(kProfilingKeyBytesMax) + " bytes"});
  if (!errors.empty()) fail(call, 400, errors);
  return errors.empty();
}

ProfilingChanged record_of(const Request& request, const JobState& job, const Numbers& numbers) {
  const Worker* worker = asking_worker(request, job);
  ProfilingChanged out;
  out.job = job.row.id;
  out.generation = job.row.generation;
  if (worker != nullptr) out.rank = Rank{static_cast<std::uint32_t>(worker - job.workers.data())};
  for (const auto& [key, value] : numbers) out.values.push_back({key, value});
  return out;
}

}  // namespace

std::string worker_text(const WorkerName& worker) {
  return std::to_string(worker.job.value) + "-" + std::to_string(worker.incarnation.value) + "-" +
         std::to_string(worker.birth_rank.value);
}

const Worker* asking_worker(const Request& request, const JobState& job) {
  const auto parts = worker_parts(request.header(kWorkerHeader));
  if (!parts || (*parts)[0] != job.row.id.value) return nullptr;
  const auto found =
      std::find_if(job.workers.begin(), job.workers.end(), [&](const Worker& worker) {
        return worker.is_alive() && worker.incarnation.value == (*parts)[1] &&
               worker.birth_rank.value == (*parts)[2];
      });
  return found == job.workers.end() ? nullptr : &*found;
}

void post_profilings(const CallPtr& call,
                     const ControlClient& client,
                     const std::string& job_name,
                     std::function<bool(const JobState&)> check,
                     std::function<void()> done) {
  // The job first: a client that asks for an unknown one is told so, whatever the body is.
  client.look_at_job(call, job_name, [=](const ControlView&, const JobState& job) -> Then {
    if (check && !check(job)) return {};
    Result<Numbers> numbers = read_numbers(call->request.body);
    if (!numbers) {
      fail(call, 400, numbers.errors());
      return {};
    }
    if (!keys_are_sound(call, *numbers)) return {};
    if (is_final(job.row.phase)) {
      fail(call, 409, job.spec->name + ": the job has ended, nothing more is kept of it");
      return {};
    }
    if (const std::string why = too_many(job, *numbers); !why.empty()) {
      fail(call, 400, why);
      return {};
    }
    if (const std::string worker(call->request.header(kWorkerHeader));
        !worker.empty() && asking_worker(call->request, job) == nullptr) {
      fail(call,
           409,
           job.spec->name + " has no living worker " + worker +
               "; send the value of ORRERY_WORKER of a worker that runs, or leave the header " +
               std::string(kWorkerHeader) + " out");
      return {};
    }
    if (numbers->empty()) return done;
    return [=, record = record_of(call->request, job, *numbers)] {
      client.ask(call, record, [call, done](const RequestOutcome& outcome) {
        if (outcome.kind == RequestOutcome::Kind::Accepted) return done();
        fail(call, 409, "the job has changed in this moment; send it again. " + outcome.message);
      });
    };
  });
}

std::vector<std::pair<std::string, double>> latest_profilings(const JobState& job) {
  Numbers out;
  for (const ProfilingSeries& series : *job.profilings)
    if (!series.samples.empty()) out.emplace_back(series.key, series.samples.back().value);
  return out;
}

std::string numbers_json(const std::vector<std::pair<std::string, double>>& numbers) {
  JsonText json;
  json.begin_object();
  for (const auto& [key, value] : numbers) json.field(key, value);
  json.end_object();
  return json.take();
}

}  // namespace orrery::http
