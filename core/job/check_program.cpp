#include "core/job/check_program.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace orrery {
namespace {

/// Of a role, to be told apart: more than jobs have, and done within a few hundredths of a second.
constexpr std::size_t kProcessesLookedAtMax = 1 << 20;

void refuse(Errors& errors, std::string subject, std::string message) {
  errors.push_back({ErrorCode::InvalidInput, {}, 0, std::move(subject), std::move(message)});
}

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_word_of(std::string_view text, std::string_view marks) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_alnum(c) || marks.find(c) != std::string_view::npos;
  });
}

bool is_printable(std::string_view text) {
  return std::none_of(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// A container runtime gets the name among its own arguments.
bool is_image_name(std::string_view image) {
  return image.front() != '-' && is_printable(image) && image.find(' ') == std::string_view::npos;
}

void check_isolation(const IsolationSpec& isolation, const std::string& subject, Errors& errors) {
  if (isolation.key.empty()) {
    if (!isolation.prepare.empty() || !isolation.interpreter.empty())
      refuse(errors,
             subject,
             "isolation has no key, one is needed: it names the folder that is prepared; write for "
             "example isolation: {key: torch-2}");
    return;
  }
  if (!is_isolation_key(isolation.key))
    refuse(
        errors,
        subject,
        "isolation.key is '" + isolation.key +
            "', 1 to 63 of a-z, A-Z, 0-9, '.', '_' and '-' are needed, beginning with a letter, a "
            "digit or '_'; rename it");
  if (!is_contained_path(isolation.interpreter))
    refuse(
        errors,
        subject,
        "isolation.interpreter is '" + isolation.interpreter +
            "', a path without '..' is needed; write it from the prepared folder on, for example "
            "bin/python");
  if (isolation.prepare_deadline <= Duration::zero())
    refuse(
        errors, subject, "isolation.deadline is 0 or less, a time above 0 is needed; correct it");
}

/// A process on a node is in one entry. Nodes that the same entries name are looked at once, so
/// that ranges may be as wide as they like.
void check_processes_apart(const RoleSpec& role, const std::string& subject, Errors& errors) {
  struct Named {
    std::int32_t node = 0;
    std::size_t entry = 0;

    auto operator<=>(const Named&) const = default;
  };

  const std::vector<NodeProgram>& entries = role.process->on_nodes;
  std::vector<Named> named;
  for (std::size_t entry = 0; entry < entries.size(); ++entry)
    if (!entries[entry].ranks.empty())
      for (const std::int32_t node : entries[entry].nodes) named.push_back({node, entry});
  std::ranges::sort(named);
  const auto same_entry = [](const Named& a, const Named& b) { return a.entry == b.entry; };
  std::span<const Named> last;
  std::vector<std::int32_t> ranks;
  std::size_t looked_at = 0;
  for (std::size_t begin = 0, end = 0; begin < named.size(); begin = end) {
    while (end < named.size() && named[end].node == named[begin].node) ++end;
    const std::span<const Named> here = std::span(named).subspan(begin, end - begin);
    if (std::ranges::equal(here, last, same_entry)) continue;
    last = here;
    ranks.clear();
    for (const Named& each : here) {
      const std::vector<std::int32_t>& more = entries[each.entry].ranks;
      looked_at += more.size();
      if (looked_at > kProcessesLookedAtMax)
        return refuse(errors,
                      subject,
                      "on_nodes names ranks on so many nodes in so many ways that more than " +
                          std::to_string(kProcessesLookedAtMax) +
                          " processes are to be told apart; bring entries of neighbouring nodes "
                          "together");
      ranks.insert(ranks.end(), more.begin(), more.end());
    }
    std::ranges::sort(ranks);
    const auto twice = std::ranges::adjacent_find(ranks);
    if (twice == ranks.end()) continue;
    return refuse(errors,
                  subject,
                  "on_nodes has rank " + std::to_string(*twice) + " on node " +
                      std::to_string(here.front().node) +
                      " twice, each in one entry is needed; take it out of one");
  }
}

/// A node for all processes is in one entry, and so is a process on a node.
void check_entries_apart(const RoleSpec& role, const std::string& subject, Errors& errors) {
  std::vector<std::int32_t> nodes;
  for (const NodeProgram& program : role.process->on_nodes)
    if (program.ranks.empty())
      nodes.insert(nodes.end(), program.nodes.begin(), program.nodes.end());
  std::ranges::sort(nodes);
  if (const auto twice = std::ranges::adjacent_find(nodes); twice != nodes.end())
    refuse(errors,
           subject,
           "on_nodes has node " + std::to_string(*twice) +
               " twice, each node in one entry is needed; bring them together, or say of which "
               "ranks each is");
  check_processes_apart(role, subject, errors);
}

void check_on_nodes(const RoleSpec& role, const std::string& subject, Errors& errors) {
  std::vector<std::int32_t> seen;
  for (const NodeProgram& program : role.process->on_nodes) {
    seen.insert(seen.end(), program.nodes.begin(), program.nodes.end());
    seen.insert(seen.end(), program.ranks.begin(), program.ranks.end());
    if (!program.interpreter.empty() && !is_contained_path(program.interpreter))
      refuse(errors,
             subject,
             "on_nodes.interpreter is '" + program.interpreter +
                 "', a path without '..' is needed; write for example /opt/torch/bin/python");
    if (!program.interpreter.empty() && !role.command.empty() && !is_python(role.command.front()))
      refuse(errors,
             subject,
             "on_nodes names an interpreter, but the command does not begin with python or "
             "python3, in whose place it would stand; write the command as a list, [python3, "
             "train.py]");
  }
  check_entries_apart(role, subject, errors);
  if (const auto least = std::ranges::min_element(seen); least != seen.end() && *least < 0)
    refuse(
        errors,
        subject,
        "on_nodes has node or rank " + std::to_string(*least) + ", both count from 0; correct it");
}

/// Names of groups stand in variables, and before a ':' in names of workers.
void check_processes(const RoleSpec& role, const std::string& subject, Errors& errors) {
  const std::string& name = role.process->group_name;
  if (name.size() > 253 || !is_word_of(name, "._-/"))
    refuse(errors,
           subject,
           "group_name is '" + name.substr(0, 80) +
               "', at most 253 of a-z, A-Z, 0-9, '.', '_', '-' and '/' are needed; rename it");
  check_on_nodes(role, subject, errors);
}

void check_role(const JobSpec& spec, const RoleSpec& role, Errors& errors) {
  const IsolationSpec& isolation = role.isolation;
  if (role.working_directory.empty() && role.image.empty() && isolation == IsolationSpec{} &&
      role.process == RarePart<ProcessSpec>{})
    return;
  const std::string subject = spec.name + ": role " + (role.name.empty() ? "?" : role.name);
  if (!is_contained_path(role.working_directory))
    refuse(errors,
           subject,
           "working_directory is '" + role.working_directory +
               "', a path without '..' is needed; write where it is from the root, or from the "
               "worker's own folder on");
  if (!role.image.empty() && !is_image_name(role.image))
    refuse(errors,
           subject,
           "image is '" + role.image +
               "', the name of an image is needed (no space, and no '-' at its beginning); correct "
               "it");
  check_isolation(isolation, subject, errors);
  check_processes(role, subject, errors);
}

/// One folder cannot be prepared in two ways.
void check_keys_agree(const JobSpec& spec, Errors& errors) {
  for (std::size_t b = 0; b < spec.roles.size(); ++b) {
    const IsolationSpec& isolation = spec.roles[b].isolation;
    if (isolation.key.empty()) continue;
    const auto earlier =
        std::find_if(spec.roles.begin(),
                     spec.roles.begin() + static_cast<std::ptrdiff_t>(b),
                     [&](const RoleSpec& role) { return role.isolation.key == isolation.key; });
    if (earlier == spec.roles.begin() + static_cast<std::ptrdiff_t>(b) ||
        earlier->isolation.prepare == isolation.prepare)
      continue;
    refuse(errors,
           spec.name + ": role " + spec.roles[b].name,
           "isolation.key is '" + isolation.key + "' as for role " + earlier->name +
               ", which prepares it otherwise, one way for each key is needed; rename one of them");
  }
}

/// The forms that Kubernetes gives to labels.
bool is_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  const std::string_view name = slash == std::string_view::npos ? key : key.substr(slash + 1);
  const std::string_view prefix = slash == std::string_view::npos ? "x" : key.substr(0, slash);
  return !prefix.empty() && prefix.size() <= 253 && is_word_of(prefix, ".-") && !name.empty() &&
         name.size() <= 63 && is_word_of(name, "._-") && is_alnum(name.front()) &&
         is_alnum(name.back());
}

bool is_label_value(std::string_view value) {
  return value.empty() || (value.size() <= 63 && is_word_of(value, "._-") &&
                           is_alnum(value.front()) && is_alnum(value.back()));
}

void check_labels(const JobSpec& spec, Errors& errors) {
  if (spec.labels.size() > kLabelsMax)
    return refuse(errors,
                  spec.name,
                  "has " + std::to_string(spec.labels.size()) + " labels, at most " +
                      std::to_string(kLabelsMax) + " are kept; remove some");
  for (std::size_t i = 0; i < spec.labels.size(); ++i) {
    const KeyValue& label = spec.labels[i];
    if (!is_label_key(label.key))
      refuse(
          errors,
          spec.name,
          "a label is called '" + label.key.substr(0, 80) +
              "', 1 to 63 of a-z, A-Z, 0-9, '.', '_' and '-' are needed, a letter or digit at both "
              "ends, behind an optional domain and '/'; rename it");
    if (!is_label_value(label.value))
      refuse(
          errors,
          spec.name,
          "label " + label.key.substr(0, 80) + " is '" + label.value.substr(0, 80) +
              "', at most 63 of a-z, A-Z, 0-9, '.', '_' and '-' are needed, a letter or digit at "
              "both ends; correct it");
    for (std::size_t k = 0; k < i; ++k)
      if (spec.labels[k].key == label.key)
        refuse(errors,
               spec.name,
               "label " + label.key.substr(0, 80) + " stands twice, labels are unique; remove one");
  }
}

void check_files(const JobSpec& spec, Errors& errors) {
  std::size_t bytes = 0;
  for (const JobFileSpec& file : spec.files) {
    bytes += file.name.size() + file.text.size();
    if (!is_file_name(file.name) || !is_file_name(file.volume))
      refuse(errors,
             spec.name,
             "brings along the file '" + file.volume.substr(0, 80) + "/" + file.name.substr(0, 80) +
                 "', names of a-z, A-Z, 0-9, '.', '_' and '-' are needed; rename it");
  }
  if (bytes > kFilesBytesMax)
    refuse(errors,
           spec.name,
           "brings along files of " + std::to_string(bytes) + " bytes, at most " +
               std::to_string(kFilesBytesMax) + " go with a job; put them on the nodes");
}

}  // namespace

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name != "." && name != ".." &&
         is_word_of(name, "._-");
}

bool is_isolation_key(std::string_view key) {
  return !key.empty() && key.size() <= 63 && is_word_of(key, "._-") && key.front() != '.' &&
         key.front() != '-';
}

bool is_python(std::string_view word) { return word == "python" || word == "python3"; }

bool is_contained_path(std::string_view path) {
  if (!is_printable(path)) return false;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (path.substr(0, slash) == "..") return false;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return true;
}

void check_programs(const JobSpec& spec, Errors& errors) {
  for (const RoleSpec& role : spec.roles) check_role(spec, role, errors);
  check_keys_agree(spec, errors);
  if (!spec.labels.empty()) check_labels(spec, errors);
  if (!spec.files.empty()) check_files(spec, errors);
}

}  // namespace orrery
