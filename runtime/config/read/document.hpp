// What both settings files have in common: overrides, places of paths, certificates.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "runtime/config/config.hpp"
#include "runtime/config/read/config_reader.hpp"
#include "scenarios/language/yaml/overrides.hpp"
#include "scenarios/language/yaml/reading.hpp"

namespace orrery::runtime {

/// One settings file as a tree with its overrides applied, and the errors found so far.
class ConfigDocument {
 public:
  /// Errors: no YAML. Overrides that lead nowhere are kept for `take_errors`.
  static Result<ConfigDocument> parse(const ConfigText& source);

  const scenarios::YamlNode& root() const { return root_; }

  scenarios::Reading& reading() { return reading_; }

  /// All errors so far: the file's by line, then the overrides'.
  Errors take_errors();

 private:
  ConfigDocument(scenarios::YamlNode root, scenarios::Reading reading, Errors override_errors)
      : root_(std::move(root)),
        reading_(std::move(reading)),
        override_errors_(std::move(override_errors)) {}

  scenarios::YamlNode root_;
  scenarios::Reading reading_;
  Errors override_errors_;
};

/// The folder of `file` with its "/", or empty.
std::string directory_of(std::string_view file);

/// `path` as it can be opened: relative to `directory` where the file says it, to the current
/// folder where an override does.
std::string placed_path(const scenarios::YamlNode& from,
                        const std::string& directory,
                        const std::string& path);

/// A path under `key`. Reports an empty one.
void read_path(const scenarios::MapReader& reader,
               std::string_view key,
               const std::string& directory,
               std::string& to);

/// Three files under `key`. Reports those that are missing beside others.
void read_tls(const scenarios::MapReader& reader,
              std::string_view key,
              const std::string& directory,
              TlsFiles& to);

/// Reports at `key` what check_exposure finds.
void read_exposure(const scenarios::MapReader& reader,
                   std::string_view key,
                   const std::string& address,
                   const TlsFiles& tls);

/// A list of addresses under `key`, each of which plaintext must be fit for or `tls` be set.
/// Reports an empty list.
void read_addresses(const scenarios::MapReader& reader,
                    std::string_view key,
                    std::string_view example,
                    std::vector<std::string>& to);

}  // namespace orrery::runtime
