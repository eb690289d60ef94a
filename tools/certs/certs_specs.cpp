#include "tools/certs/certs_specs.hpp"

#include <vector>

namespace orrery::cli {
namespace {

OptionSpec folder_option() {
  return {"--dir", "DIR", "folder that `certs init` made (default certs)", false, true};
}

OptionSpec days_option() {
  return {"--days", "N", "how long they are valid, 1 to 3650 (default 365)"};
}

OptionSpec force_option() { return {"--force", "", "replace files that are there"}; }

VerbSpec issuing(std::string_view name,
                 std::string_view summary,
                 std::string_view details,
                 std::vector<Example> examples) {
  VerbSpec spec;
  spec.name = name;
  spec.operands = "NAME...";
  spec.operands_min = 1;
  spec.operands_max = -1;
  spec.summary = summary;
  spec.details = details;
  spec.options = {folder_option(), days_option(), force_option()};
  spec.examples = std::move(examples);
  return spec;
}

}  // namespace

VerbSpec certs_init_spec() {
  VerbSpec spec;
  spec.name = "certs init";
  spec.operands = "[DIR]";
  spec.operands_max = 1;
  spec.summary = "make a cluster's certificate authority and its controller's certificate";
  spec.details =
      "Writes ca.pem, ca.key, controller.pem and controller.key into DIR (default certs), keys "
      "for\n"
      "their owner alone. Nothing that is there is overwritten without --force. The controller's\n"
      "certificate is good for every --host (name or numeric address; by default this machine's\n"
      "name), and for localhost. The authority lasts 10 years.";
  spec.options = {{"--host", "NAME", "at which the controller is reached", true},
                  days_option(),
                  {"--force", "", "replace the authority: all earlier certificates end with it"}};
  spec.examples = {{"orrery certs init --host 10.0.0.1 --host controller.example", "into certs/"}};
  return spec;
}

VerbSpec certs_controller_spec() {
  VerbSpec spec =
      issuing("certs controller",
              "make a certificate for one more controller",
              "Writes controller-NAME.pem and controller-NAME.key into DIR, good for "
              "every --host.",
              {{"orrery certs controller b --host 10.0.0.2", "for a second controller"}});
  spec.operands = "NAME";
  spec.operands_max = 1;
  spec.options.insert(spec.options.begin(),
                      {"--host", "NAME", "name or address at which it is reached", true});
  return spec;
}

VerbSpec certs_agent_spec() {
  return issuing("certs agent",
                 "make certificates for the agents of nodes",
                 "Writes agent-NAME.pem and agent-NAME.key into DIR for each NAME, which is the\n"
                 "node's. Brackets stand for many: 'gpu-[1-16]'.",
                 {{"orrery certs agent gpu-1", "one node"},
                  {"orrery certs agent 'gpu-[2-16]'", "fifteen more"}});
}

VerbSpec certs_user_spec() {
  return issuing("certs user",
                 "make client certificates for people who submit jobs",
                 "Writes user-NAME.pem and user-NAME.key into DIR for each NAME.",
                 {{"orrery certs user ann", "for Ann"}});
}

VerbSpec certs_admin_spec() {
  return issuing("certs admin",
                 "make client certificates for people who run the cluster",
                 "Writes admin-NAME.pem and admin-NAME.key into DIR for each NAME.",
                 {{"orrery certs admin root", "for a person who drains nodes"}});
}

VerbSpec certs_token_spec() {
  VerbSpec spec;
  spec.name = "certs token";
  spec.summary = "make a bearer token for HTTP, or revoke all of a user's";
  spec.details =
      "Prints the token on standard output, once: the file keeps only its SHA-256 digest. A "
      "running\n"
      "controller follows the file.";
  spec.options = {
      {"--role", "ROLE", "what its holder may do", false, false, {"user", "admin", "agent"}},
      {"--name", "NAME", "whose it is"},
      {"--file", "FILE", "the controller's tokens_file (default certs/tokens)", false, true},
      {"--revoke", "", "remove all tokens of this role and name"}};
  spec.examples = {{"orrery certs token --role user --name ann", "a token for Ann"},
                   {"orrery certs token --role user --name ann --revoke", "take it back"}};
  return spec;
}

VerbSpec certs_show_spec() {
  VerbSpec spec;
  spec.name = "certs show";
  spec.operands = "FILE...";
  spec.operands_min = 1;
  spec.operands_max = -1;
  spec.summary = "show whose certificates these are and when they end";
  spec.options = {{"--json", "", "print one JSON document, and nothing else"}};
  spec.examples = {{"orrery certs show certs/*.pem", "role, name and last day of each"},
                   {"orrery certs show certs/*.pem --json", "the same for a script"}};
  return spec;
}

}  // namespace orrery::cli
