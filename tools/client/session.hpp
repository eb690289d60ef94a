// What every verb that asks a controller shares: its options, and how failures are told.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/client/client.hpp"
#include "tools/console/arguments.hpp"
#include "tools/console/console.hpp"
#include "tools/console/job_names.hpp"
#include "tools/console/verb.hpp"

namespace orrery::cli {

/// From the options, else the variables ORRERY_SERVER, ORRERY_TOKEN_FILE, ORRERY_CA, ORRERY_CERT
/// and ORRERY_KEY, else http://127.0.0.1:22100. Errors: all that is unfit, and a token that would
/// leave this machine in clear.
Result<ClientOptions> client_options(const Arguments& arguments);

/// One conversation of a verb with the controller.
class Session {
 public:
  Session(ClientOptions options, Console& console)
      : client_(std::move(options)), console_(console) {}

  Client& client() { return client_; }

  Console& console() { return console_; }

  /// Asks, and reads the document. Where that fails it is told on standard error, `code` is set,
  /// and null is returned. `subject` stands before what the controller says: "job default.train".
  nlohmann::json ask(const HttpRequest& request, std::string_view subject);

  /// The document of a reply, as `ask` does.
  nlohmann::json read(const Result<HttpReply>& reply, std::string_view subject);

  /// All elements of a list that comes in pages: "jobs" of /api/v1/jobs, with what `query` asks for
  /// besides. Null where that fails.
  nlohmann::json ask_list(const char* key, const std::string& query = "");

  /// How it ended so far: the last failure told or noted.
  ExitCode code() const { return code_; }

  void note(ExitCode code) { code_ = code; }

  /// Says why there is no answer: 130 after an interrupt, 5 where no controller answers, else 2.
  ExitCode tell(const Errors& errors);

  /// Tells a reply that is not good: 2 for input that it could not read, 5 where it takes nothing
  /// now, else 1.
  ExitCode tell(const HttpReply& reply, std::string_view subject);

 private:
  Client client_;
  Console& console_;
  ExitCode code_ = ExitCode::Met;
};

/// "/api/v1/jobs/default.train" with `rest` behind it.
std::string job_target(std::string_view name, std::string_view rest = "");

}  // namespace orrery::cli
