#include "runtime/config/read/document.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <vector>

#include "core/base/stream_text.hpp"
#include "runtime/config/address.hpp"
#include "runtime/config/read/config_sections.hpp"
#include "scenarios/language/yaml/yaml_tree.hpp"

namespace orrery::runtime {

Result<ConfigText> open_config(const std::string& path,
                               std::vector<scenarios::Override> overrides) {
  ConfigText source;
  source.file = path;
  source.overrides = std::move(overrides);
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) source.host = host.data();
  if (path.empty()) return source;
  std::ifstream in(path, std::ios::binary);
  std::optional<std::string> text = rest_of(in);
  if (!text)
    return Error{ErrorCode::NotFound,
                 path,
                 0,
                 "settings",
                 "cannot be read, a readable file is needed; check the path"};
  source.text = *std::move(text);
  return source;
}

Result<ConfigDocument> ConfigDocument::parse(const ConfigText& source) {
  Result<scenarios::YamlNode> root = scenarios::parse_yaml(source.text, source.file, 0);
  if (!root) return root.errors();
  if (root->is_null()) root->origin.line = source.file.empty() ? 0 : 1;

  std::vector<std::string> places{source.file};
  Errors errors;
  for (const scenarios::Override& override : source.overrides) {
    places.push_back(scenarios::override_place(override));
    const auto number = static_cast<std::uint32_t>(places.size() - 1);
    for (Error& error : scenarios::apply_override(*root, override, number))
      errors.push_back(std::move(error));
  }
  return ConfigDocument(std::move(*root), scenarios::Reading(std::move(places)), std::move(errors));
}

Errors ConfigDocument::take_errors() {
  Errors all = reading_.take_errors();
  for (Error& error : override_errors_) all.push_back(std::move(error));
  override_errors_.clear();
  return all;
}

std::string directory_of(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(file.substr(0, slash + 1));
}

std::string placed_path(const scenarios::YamlNode& from,
                        const std::string& directory,
                        const std::string& path) {
  return from.origin.source == 0 && !path.starts_with('/') ? directory + path : path;
}

void read_path(const scenarios::MapReader& reader,
               std::string_view key,
               const std::string& directory,
               std::string& to) {
  const scenarios::YamlNode* node = reader.find(key);
  if (node == nullptr) return;
  std::string path;
  reader.read_text(key, path);
  if (!path.empty())
    to = placed_path(*node, directory, path);
  else if (node->is_scalar())
    reader.fail(key, "is empty, a path is needed; name a file, or remove the key");
}

void read_tls(const scenarios::MapReader& reader,
              std::string_view key,
              const std::string& directory,
              TlsFiles& to) {
  const scenarios::YamlNode* node = reader.find(key);
  if (node == nullptr) return;
  const scenarios::MapReader files(
      reader.reading(), *node, config_section("tls"), reader.subject_of(key));
  read_path(files, "ca", directory, to.ca);
  read_path(files, "certificate", directory, to.certificate);
  read_path(files, "key", directory, to.key);
  if (!node->is_map()) return;
  for (const std::string_view file : {"ca", "certificate", "key"})
    if (!files.has(file))
      files.missing(file, std::string(file) + ": certs/" + std::string(file) + ".pem");
}

void read_exposure(const scenarios::MapReader& reader,
                   std::string_view key,
                   const std::string& address,
                   const TlsFiles& tls) {
  for (Error& error : check_exposure(address, tls, {})) reader.fail(key, std::move(error.message));
}

void read_addresses(const scenarios::MapReader& reader,
                    std::string_view key,
                    std::string_view example,
                    std::vector<std::string>& to) {
  const scenarios::YamlNode* node = reader.find(key);
  if (node == nullptr) return;
  std::vector<std::string> addresses;
  reader.read_texts(key, addresses);
  if (node->is_sequence() && node->items.empty())
    reader.fail(
        key, "is empty, at least one address is needed; write for example " + std::string(example));
  if (!addresses.empty()) to = std::move(addresses);
}

}  // namespace orrery::runtime
