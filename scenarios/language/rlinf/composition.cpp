#include "scenarios/language/rlinf/composition.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "scenarios/language/rlinf/interpolation.hpp"
#include "scenarios/language/yaml/overrides.hpp"

namespace orrery::scenarios {
namespace {

/// Files that one document may be composed of.
constexpr std::size_t kFilesMax = 1000;

/// Errors that are told; what is wrong behind so many is left out.
constexpr std::size_t kErrorsMax = 1000;

/// Keys below each other that a file may be put under.
constexpr std::size_t kPackageMax = 64;

using Package = std::vector<std::string>;

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void make_map(YamlNode& node) {
  if (node.is_map()) return;
  YamlNode map;
  map.kind = YamlNode::Kind::Map;
  map.origin = node.origin;
  map.start = node.start;
  node = std::move(map);
}

/// Says of which file a tree is.
void mark(YamlNode& node, std::uint32_t file) {  // NOLINT(misc-no-recursion): as `merge`
  node.origin.source = file;
  for (YamlNode& item : node.items) mark(item, file);
  for (YamlEntry& entry : node.entries) {
    entry.key_origin.source = file;
    mark(entry.value, file);
  }
}

/// Maps key by key; all else is replaced.
void merge(YamlNode& into, YamlNode from) {  // NOLINT(misc-no-recursion): of kYamlDepthMax levels
  if (!into.is_map() || !from.is_map()) {
    into = std::move(from);
    return;
  }
  for (YamlEntry& entry : from.entries) {
    if (YamlNode* own = into.find(entry.key))
      merge(*own, std::move(entry.value));
    else
      into.entries.push_back(std::move(entry));
  }
}

/// The value under the package, made where it is not there.
YamlNode& below(YamlNode& root, const Package& package) {
  YamlNode* node = &root;
  for (const std::string& key : package) {
    make_map(*node);
    YamlNode* next = node->find(key);
    if (next == nullptr) {
      node->entries.push_back({key, node->origin, {}, node->start});
      next = &node->entries.back().value;
    }
    node = next;
  }
  return *node;
}

/// Whether the tree has the key, be its value null.
bool has_key(const YamlNode& root, const std::string& path) {
  const YamlNode* node = &root;
  for (const std::string& key : split(path, '.')) {
    node = node->find(key);
    if (node == nullptr) return false;
  }
  return true;
}

void erase(YamlNode& map, std::string_view key) {
  std::erase_if(map.entries, [&](const YamlEntry& entry) { return entry.key == key; });
}

/// One file of an entry of `defaults`.
struct Import {
  std::string path;                    ///< Without ".yaml"; absolute ones begin with "/".
  std::optional<std::string> package;  ///< Behind "@"; nothing: that of the path's folder.
  bool is_optional = false;
  bool is_self = false;
  Origin origin;
};

/// A folder in which files are looked for.
struct SearchFolder {
  std::optional<std::string> path;  ///< Nothing: it cannot be told.
  std::string shown;
};

/// A file that is read.
struct Source {
  std::string path;
  std::string group;  ///< Its folder below the search folder.
  Package package;    ///< Where its own keys go.
};

class Composer {
 public:
  explicit Composer(const CompositionSources& sources) : sources_(sources) {}

  Result<Composition> run(std::string_view text, const std::string& path) {
    const std::string own = std::filesystem::path(path).parent_path().string();
    folders_.push_back({own, own.empty() ? "." : own});
    out_.root.kind = YamlNode::Kind::Map;
    add(text, {path, "", {}});
    erase(out_.root, "defaults");
    erase(out_.root, "hydra");
    for (const std::string& override : sources_.overrides) apply(override);
    if (!errors_.empty()) return errors_;
    return std::move(out_);
  }

 private:
  void fail(const Origin& origin, std::string subject, std::string message) {
    if (errors_.size() >= kErrorsMax) return;
    const bool known = origin.source < out_.files.size();
    errors_.push_back({ErrorCode::InvalidInput,
                       known ? out_.files[origin.source] : std::string{},
                       origin.line,
                       std::move(subject),
                       std::move(message)});
  }

  /// Merges a file, with all that it names, into what is composed.
  void add(std::string_view text, const Source& source) {  // NOLINT(misc-no-recursion): see `open_`
    const auto number = static_cast<std::uint32_t>(out_.files.size());
    out_.files.push_back(source.path);
    Result<YamlNode> tree = parse_yaml(text, source.path, 0);
    if (!tree) {
      errors_.insert(errors_.end(), tree.errors().begin(), tree.errors().end());
      return;
    }
    YamlNode own = std::move(tree).value();
    mark(own, number);
    if (number == 0) add_search_path(own);
    const std::vector<Import> imports = imports_of(own);
    open_.push_back(source.path);
    erase(own, "defaults");
    bool merged = false;
    for (const Import& import : imports) {
      if (import.is_self) {
        merge(below(out_.root, source.package), std::exchange(own, {}));
        merged = true;
      } else {
        add(import, source);
      }
    }
    if (!merged && !own.is_null()) merge(below(out_.root, source.package), std::move(own));
    open_.pop_back();
  }

  void add(const Import& import, const Source& from) {  // NOLINT(misc-no-recursion): see `open_`
    const bool is_absolute = import.path.starts_with("/");
    const std::filesystem::path joined = is_absolute
                                             ? std::filesystem::path(import.path.substr(1))
                                             : std::filesystem::path(from.group) / import.path;
    const std::string name = joined.lexically_normal().string();
    std::string searched;
    for (const SearchFolder& folder : folders_) {
      searched.append(searched.empty() ? "" : ", ").append(folder.shown);
      if (!folder.path) continue;
      const std::string path =
          (std::filesystem::path(*folder.path) / (name + ".yaml")).lexically_normal().string();
      const std::optional<std::string> text = sources_.read(path);
      if (!text) continue;
      if (std::ranges::find(open_, path) != open_.end())
        return fail(import.origin, "defaults", import.path + " leads back to itself; remove it");
      if (out_.files.size() >= kFilesMax)
        return fail(import.origin,
                    "defaults",
                    "more than " + std::to_string(kFilesMax) + " files; compose fewer");
      Source source{path, std::filesystem::path(name).parent_path().string(), from.package};
      const std::string entry_folder =
          std::filesystem::path(is_absolute ? name : import.path).parent_path().string();
      const std::string package =
          import.package ? *import.package : dotted(split(entry_folder, '/'));
      place(package, source.package);
      if (source.package.size() > kPackageMax)
        return fail(import.origin,
                    "defaults",
                    import.path + " is put under " + std::to_string(source.package.size()) +
                        " keys below each other, at most " + std::to_string(kPackageMax) +
                        " are needed; put it higher");
      if (text->starts_with("# @package _global_")) source.package.clear();
      return add(*text, source);
    }
    if (!import.is_optional)
      fail(import.origin,
           "defaults",
           "names " + import.path + ", and there is no " + name + ".yaml in " + searched +
               "; correct it, set what a folder's name refers to, or name more folders with "
               "--config-dir");
  }

  static std::string dotted(const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts)
      if (part != "..") out.append(out.empty() ? "" : ".").append(part);
    return out;
  }

  /// Adds what stands behind "@" to a package.
  static void place(std::string_view written, Package& package) {
    constexpr std::string_view kGlobal = "_global_";
    if (written == "_here_") return;
    if (written.starts_with(kGlobal)) {
      package.clear();
      written.remove_prefix(kGlobal.size());
    }
    for (std::string& key : split(written, '.')) package.push_back(std::move(key));
  }

  void add_search_path(const YamlNode& document) {
    const YamlNode* hydra = document.find("hydra");
    const YamlNode* path = hydra == nullptr ? nullptr : hydra->find("searchpath");
    if (path != nullptr)
      for (const YamlNode& item : path->items) {
        YamlNode one;
        one.kind = YamlNode::Kind::Map;
        one.entries.push_back({"path", item.origin, item, item.start});
        const Result<YamlNode> told = Interpolation(one, sources_.variable).at("path");
        std::string folder = told ? told.value().scalar : std::string{};
        constexpr std::string_view kFile = "file://";
        if (folder.starts_with(kFile)) folder.erase(0, kFile.size());
        if (!told)
          folders_.push_back({std::nullopt, item.scalar + " (" + reason_of(told) + ")"});
        else if (folder.find("://") != std::string::npos)
          folders_.push_back({std::nullopt, folder + " (only file:// is followed)"});
        else
          folders_.push_back({folder, folder});
      }
    for (const std::string& folder : sources_.search) folders_.push_back({folder, folder});
  }

  static std::string reason_of(const Result<YamlNode>& told) {
    const std::string& message = told.errors().front().message;
    return message.substr(0, message.find(';'));
  }

  std::vector<Import> imports_of(const YamlNode& document) {
    std::vector<Import> out;
    const YamlNode* defaults = document.find("defaults");
    if (defaults == nullptr) return out;
    if (!defaults->is_sequence()) {
      fail(document.origin_of("defaults"),
           "defaults",
           "is " + describe(*defaults) + ", a list is needed; write - group/file@key lines");
      return out;
    }
    for (const YamlNode& item : defaults->items) {
      if (item.is_scalar()) {
        add_import(item.scalar, "", item.origin, out);
      } else if (item.is_map() && item.entries.size() == 1) {
        add_group(item.entries.front(), out);
      } else {
        fail(item.origin,
             "defaults",
             "has " + describe(item) + ", the name of a file or group: file is needed; correct it");
      }
    }
    return out;
  }

  /// `group: file`, `group@key: [files]`.
  void add_group(const YamlEntry& entry, std::vector<Import>& out) {
    if (entry.key.starts_with("override hydra/") || entry.value.is_null()) return;
    if (entry.value.is_scalar()) {
      add_import(entry.key, entry.value.scalar, entry.key_origin, out);
    } else if (entry.value.is_sequence()) {
      for (const YamlNode& item : entry.value.items)
        add_import(entry.key, item.scalar, entry.key_origin, out);
    } else {
      fail(entry.key_origin,
           "defaults",
           entry.key + " is " + describe(entry.value) +
               ", the name of a file or a list of names is needed; correct it");
    }
  }

  void add_import(std::string_view written,
                  std::string_view option,
                  const Origin& origin,
                  std::vector<Import>& out) {
    Import import;
    import.origin = origin;
    constexpr std::string_view kOptional = "optional ";
    if (written.starts_with("override hydra/")) return;
    if (written.starts_with(kOptional)) {
      import.is_optional = true;
      written.remove_prefix(kOptional.size());
    }
    const std::size_t at = written.find('@');
    if (at != std::string_view::npos) import.package = std::string(written.substr(at + 1));
    import.path = std::string(written.substr(0, at));
    if (!option.empty()) import.path.append("/").append(option);
    import.is_self = import.path == "_self_";
    constexpr std::string_view kYaml = ".yaml";
    if (import.path.ends_with(kYaml)) import.path.resize(import.path.size() - kYaml.size());
    if (import.path.starts_with("override ") || import.path.find("${") != std::string::npos)
      return fail(origin,
                  "defaults",
                  import.path + " cannot be followed here, the name of a file is needed; write it");
    out.push_back(std::move(import));
  }

  /// One word of RLinf's command line.
  void apply(const std::string& word) {
    const auto number = static_cast<std::uint32_t>(out_.files.size());
    out_.files.push_back(word);
    const bool removes = word.starts_with("~");
    const bool adds = word.starts_with("+");
    const std::size_t equals = removes ? std::string::npos : word.find('=');
    std::string path = word.substr(0, equals);
    path.erase(0, path.find_first_not_of("+~"));
    if (path.empty() || path.find_first_of("/@") != std::string::npos ||
        (!removes && equals == std::string::npos))
      return fail({number, 0},
                  "",
                  "is no change of a value, key.key=value is needed; +key=value adds one, ~key "
                  "removes one");
    if (static_cast<std::size_t>(std::ranges::count(path, '.')) >= kPackageMax)
      return fail({number, 0},
                  "",
                  "names more than " + std::to_string(kPackageMax) +
                      " keys below each other; change a value higher up");
    if (!adds && !has_key(out_.root, path) && !Interpolation(out_.root).has(path))
      return fail(
          {number, 0},
          "",
          "the document has no " + path + ", one is needed; write +" + path + "=value to add it");
    if (removes) {
      Package parts = split(path, '.');
      const std::string last = parts.back();
      parts.pop_back();
      erase(below(out_.root, parts), last);
      return;
    }
    for (Error& error : apply_override(out_.root, {path, word.substr(equals + 1)}, number)) {
      error.file = word;
      errors_.push_back(std::move(error));
    }
  }

  const CompositionSources& sources_;
  std::vector<SearchFolder> folders_;
  std::vector<std::string> open_;  ///< Files whose defaults are being followed: no file twice.
  Composition out_;
  Errors errors_;
};

}  // namespace

bool has_defaults(const YamlNode& root) {
  const YamlNode* defaults = root.find("defaults");
  return defaults != nullptr && defaults->is_sequence();
}

Result<Composition> compose(std::string_view text,
                            const std::string& path,
                            const CompositionSources& sources) {
  return Composer(sources).run(text, path);
}

}  // namespace orrery::scenarios
