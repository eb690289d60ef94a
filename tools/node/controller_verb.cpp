// controller: the daemon that leads, with HTTP in front of it.
#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/config/read/config_reader.hpp"
#include "runtime/controller/controller_daemon.hpp"
#include "runtime/forecast/forecast_desk.hpp"
#include "runtime/http/frontend.hpp"
#include "runtime/launch/relaunch_runner.hpp"
#include "runtime/planner/process_planner.hpp"
#include "runtime/security/tokens.hpp"
#include "scenarios/language/jobs/job_file.hpp"
#include "tools/node/backend.hpp"
#include "tools/node/daemon_settings.hpp"
#include "tools/node/daemon_signals.hpp"
#include "tools/node/forecast_process.hpp"
#include "tools/node/launching.hpp"
#include "tools/node/planner_process.hpp"
#include "tools/node/verbs.hpp"

namespace orrery::cli {
namespace {

using runtime::ControllerConfig;

Errors check_policy(const std::string& name, const std::vector<KeyValue>& parameters) {
  const auto policy = policy_of({name, parameters, 0});
  return policy ? Errors{} : policy.errors();
}

/// Tokens of a file, as HTTP asks for them.
class FileAuthenticator final : public http::Authenticator {
 public:
  using Say = std::function<void(const std::string&)>;

  /// `say`: told once of each thing that is wrong with the file, from any thread.
  FileAuthenticator(std::unique_ptr<runtime::TokenFile> tokens, Say say)
      : tokens_(std::move(tokens)), say_(std::move(say)) {}

  std::optional<http::Identity> identify(std::string_view token) override {
    const auto holder = tokens_->identify(token);
    if (!holder) return std::nullopt;
    const auto role = enum_from<http::Role>(to_string(holder->role));
    if (!role) return std::nullopt;
    return http::Identity{*role, holder->name};
  }

  bool is_sound() override {
    const Errors wrong = tokens_->problem();
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const Error& error : wrong) text += error.text() + "\n";
    if (text != said_ && !wrong.empty())
      say_("tokens: every one is refused: " + wrong.front().text());
    said_ = text;
    return wrong.empty();
  }

 private:
  std::unique_ptr<runtime::TokenFile> tokens_;
  Say say_;
  std::mutex mutex_;
  std::string said_;  ///< What is wrong with the file, as far as it was told.
};

/// Reads what clients send.
http::ReadJobText job_reader(std::vector<PriorityClass> classes) {
  return [classes = std::move(classes)](const http::JobText& source) -> Result<http::ReadJobs> {
    scenarios::JobFileOptions options;
    options.priority_classes = classes;
    if (source.nodes) options.groups = *source.nodes;
    for (const std::string& set : source.sets) {
      auto parsed = scenarios::parse_override(set);
      if (!parsed) return parsed.errors();
      options.overrides.push_back(std::move(*parsed));
    }
    auto file = scenarios::parse_job_file(source.text, source.file, options);
    if (!file) return file.errors();
    http::ReadJobs out;
    out.jobs = std::move(file->jobs);
    for (const Error& warning : file->warnings) out.warnings.push_back(warning.text());
    out.needs_nodes = file->needs_cluster;
    return out;
  };
}

/// The address under which others reach our HTTP; empty where its port is still to be taken.
std::string url_of(const ControllerConfig& config) {
  if (!config.advertised_url.empty()) return config.advertised_url;
  if (config.http_address.ends_with(":0")) return {};
  if (config.http_address.starts_with("unix:")) return config.http_address;
  return (config.tls.is_set() ? "https://" : "http://") + config.http_address;
}

runtime::ControllerParts parts_of(const ControllerConfig& config,
                                  Backend& backend,
                                  runtime::RelaunchRunner& relauncher) {
  runtime::ControllerParts parts;
  parts.config = config;
  parts.listen = [config](runtime::LinkListener& listener) {
    return runtime::serve_links(config.agents_address, config.tls, runtime::LinkLimits{}, listener);
  };
  backend.install(parts);
  parts.policy = [config]() -> std::unique_ptr<Policy> {
    auto policy = policy_of({config.policy, config.policy_parameters, config.settings.seed});
    return policy ? std::move(*policy) : nullptr;  // Never: it was made when it was checked.
  };
  parts.planner = [config](Policy&, std::function<void()> wake) -> std::unique_ptr<Planner> {
    runtime::ProcessPlannerOptions options;
    options.program = planner_program();
    options.policy = {config.policy, config.policy_parameters, config.settings.seed};
    options.deadline = config.planner.deadline;
    options.memory = config.planner.memory;
    return std::make_unique<runtime::ProcessPlanner>(std::move(options), std::move(wake));
  };
  if (!config.relaunch_command.empty())
    parts.relaunch = [&relauncher, longest = config.relaunch_command_timeout](
                         const std::vector<std::string>& nodes,
                         const std::string& description,
                         Duration timeout,
                         auto done) {
      relauncher.run(nodes, description, std::min(timeout, longest), std::move(done));
    };
  return parts;
}

Result<ControllerConfig> read_config(const Arguments& arguments) {
  const auto text = open_settings(arguments);
  if (!text) return text.errors();
  return runtime::read_controller_config(*text, check_policy);
}

Result<std::unique_ptr<FileAuthenticator>> open_tokens(const std::string& file,
                                                       FileAuthenticator::Say say) {
  if (file.empty()) return std::unique_ptr<FileAuthenticator>();
  auto tokens = runtime::TokenFile::open(file);
  if (!tokens) return tokens.errors();
  return std::make_unique<FileAuthenticator>(std::move(*tokens), std::move(say));
}

}  // namespace

ExitCode run_controller(const Arguments& arguments, Console& console) {
  const auto fail = [&console](const Errors& errors) {
    console.errors(errors);
    return ExitCode::BadInput;
  };
  if (const Status bound = bind_to_parent(arguments); !bound) return fail(bound.errors());
  hold_signals();
  const auto config = read_config(arguments);
  if (!config) return fail(config.errors());
  if (arguments.has("--print-systemd-unit")) {
    const auto unit = unit_of(arguments, *config);
    if (!unit) return fail(unit.errors());
    console.out(*unit);
    return ExitCode::Met;
  }
  const auto say = [&console](const std::string& sentence) { console.err(sentence + "\n"); };
  const auto tokens = open_tokens(config->tokens_file, say);
  if (!tokens) return fail(tokens.errors());
  const auto backend = Backend::make(*config, url_of(*config));
  if (!backend) return fail(backend.errors());
  runtime::RelaunchRunner relauncher(config->relaunch_command);
  runtime::ControllerParts parts = parts_of(*config, **backend, relauncher);
  parts.say = say;
  auto daemon = runtime::ControllerDaemon::start(std::move(parts));
  if (!daemon) return fail(daemon.errors());
  runtime::ForecastDeskOptions forecasting = forecast_options(*config);
  forecasting.say = say;
  runtime::ForecastDesk desk(**daemon, std::move(forecasting));
  http::FrontendOptions options;
  options.address = config->http_address;
  options.tls = config->tls;
  options.tokens = tokens->get();
  options.read_jobs = job_reader(config->priority_classes);
  options.forecasts = &desk;
  auto frontend = http::serve_http(**daemon, std::move(options));
  if (!frontend) return fail(frontend.errors());
  if (config->advertised_url.empty()) (*daemon)->advertise((*frontend)->url());
  console.out("controller " + config->name + ": HTTP at " + (*frontend)->url() + ", agents at " +
              (*daemon)->agents_address() + "\n");
  if (const Status told = tell_ready(arguments, (*frontend)->address()); !told)
    return fail(told.errors());
  wait_for_stop();
  (*frontend)->stop();
  relauncher.stop();
  return ExitCode::Met;
}

}  // namespace orrery::cli
