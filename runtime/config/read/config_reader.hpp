// Reads the settings of the daemons from YAML: everything that is wrong with them at once.
// docs/configuration.md has every key.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/job/spec.hpp"
#include "runtime/config/config.hpp"
#include "scenarios/language/loader.hpp"

namespace orrery::runtime {

/// What settings are made of, before they are understood.
struct ConfigText {
  std::string text;  ///< YAML; empty: the defaults.
  std::string file;  ///< Names it in messages; its folder is where paths written in it begin.
  std::vector<scenarios::Override> overrides;  ///< `--set path=value`, in order.
  std::string host;  ///< What this machine is called: the default of names. May be empty.
};

/// Reads `path`, or nothing where it is empty, and asks this machine's name. Errors: a file that
/// cannot be read.
Result<ConfigText> open_config(const std::string& path,
                               std::vector<scenarios::Override> overrides = {});

/// Judges the name of a policy and its parameters: the registry is not reached from here. Errors
/// have the subject "policy" or "policy.KEY", and no place: it is added.
using PolicyCheck =
    std::function<Errors(const std::string& name, const std::vector<KeyValue>& parameters)>;

/// Errors as a scenario's: `file:line` or `--set path=value`, the file's first. Besides keys and
/// values: plaintext on an address that other machines reach, node names that stand twice, and what
/// `check` finds. No file that the settings name is opened.
Result<ControllerConfig> read_controller_config(const ConfigText& source, const PolicyCheck& check);

/// As above.
Result<AgentConfig> read_agent_config(const ConfigText& source);

}  // namespace orrery::runtime
