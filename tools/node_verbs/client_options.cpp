#include "tools/node_verbs/client_options.hpp"

namespace orrery::cli {

std::vector<OptionSpec> with_client_options(std::vector<OptionSpec> own) {
  own.insert(
      own.end(),
      {{.name = "--server",
        .value = "URL",
        .help = "the controller, or several, A,B,... (default: $ORRERY_SERVER, else "
                "http://127.0.0.1:22100)"},
       {.name = "--token-file",
        .value = "FILE",
        .help = "the bearer token to show (default: $ORRERY_TOKEN_FILE)",
        .takes_path = true},
       {.name = "--ca",
        .value = "FILE",
        .help = "authorities that may sign the controller's certificate (default: $ORRERY_CA)",
        .takes_path = true},
       {.name = "--cert",
        .value = "FILE",
        .help = "the certificate to show (default: $ORRERY_CERT)",
        .takes_path = true},
       {.name = "--key",
        .value = "FILE",
        .help = "its private key (default: $ORRERY_KEY)",
        .takes_path = true},
       {.name = "--timeout",
        .value = "SECONDS",
        .help = "how long an answer may take (default: 10, a forecast 60)"}});
  return own;
}

}  // namespace orrery::cli
