#include "tools/client/run_request.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

#include "core/job/priority_class.hpp"
#include "scenarios/language/loader.hpp"
#include "scenarios/language/yaml/quantities.hpp"
#include "tools/client/torchrun_options.hpp"

namespace orrery::cli {
namespace {

constexpr std::uint64_t kNodesMax = 65'536;
constexpr std::uint64_t kPerNodeMax = 4096;
constexpr std::uint64_t kDevicesMax = 64;
constexpr std::uint64_t kRestartsMax = 1'000'000;
constexpr std::uint64_t kFilteredRankMax = 1'048'576;
constexpr std::size_t kNameMax = 50;  // Leaves room for a number behind it.

/// Letters, digits and dashes of a text, for the name of a job; may be empty.
std::string as_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool fits = byte < 128 && std::isalnum(byte) != 0;
    if (fits) out += static_cast<char>(std::tolower(byte));
    if (!fits && !out.empty() && !out.ends_with('-')) out += '-';
  }
  out.resize(std::min(out.size(), kNameMax));
  while (out.ends_with('-')) out.pop_back();
  return out;
}

/// "train" of "src/train.py", and of the module "project.train".
std::string name_of_program(const std::string& word, bool is_module) {
  std::string_view text = word;
  if (is_module && text.ends_with(".__main__")) text.remove_suffix(9);
  std::string last = is_module ? std::string(text.substr(text.rfind('.') + 1))
                               : std::filesystem::path(text).stem().string();
  last = as_name(last);
  return last.empty() ? "run" : last;
}

bool is_variable(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, [](char c) {
           return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
         });
}

/// As the user calls it, where that is the present one: behind a link of this machine may be a path
/// that other nodes do not have. Empty where it is gone.
std::string present_folder() {
  std::error_code code;
  const std::filesystem::path real = std::filesystem::current_path(code);
  if (code) return "";
  const char* called = std::getenv("PWD");
  if (called == nullptr || !std::filesystem::path(called).is_absolute()) return real.string();
  return std::filesystem::equivalent(called, real, code) ? called : real.string();
}

/// A program in the folder of this one; empty where there is none.
std::string program_beside(const std::string& name) {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  const std::string path = (self.parent_path() / name).string();
  return !code && ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

class Reading {
 public:
  Reading(const Arguments& arguments, const Caller& caller)
      : arguments_(arguments), caller_(caller) {}

  Result<RunRequest> read() {
    out_.folder = caller_.folder;
    errors_ = torchrun_contradictions(arguments_);
    if (out_.folder.empty())
      errors_.push_back({.subject = "orrery run",
                         .message = "the present folder is gone, and the program is to start in "
                                    "it; go to one that is there"});
    read_nodes();
    read_per_node();
    read_shares();
    if (const auto most = number("--max-restarts", 0, kRestartsMax)) out_.max_restarts = *most;
    read_command();
    read_names();
    read_environment();
    read_filter();
    read_sets();
    for (const std::string& note : torchrun_notes(arguments_)) out_.notes.push_back(note);
    if (!errors_.empty()) return std::move(errors_);
    return std::move(out_);
  }

 private:
  void fail(const char* option, std::string message) {
    errors_.push_back(
        {.subject = std::string("orrery run: ") + option, .message = std::move(message)});
  }

  void keep(const Errors& errors) { errors_.insert(errors_.end(), errors.begin(), errors.end()); }

  std::optional<std::int32_t> number(const char* option, std::uint64_t low, std::uint64_t high) {
    const auto text = arguments_.value(option);
    if (!text) return std::nullopt;
    const auto value = whole_number(std::string("orrery run: ") + option, *text, low, high);
    if (value) return static_cast<std::int32_t>(*value);
    keep(value.errors());
    return std::nullopt;
  }

  void read_nodes() {
    const std::string text = arguments_.value("--nnodes").value_or("1");
    const std::size_t colon = text.find(':');
    const auto low = whole_number("", text.substr(0, colon), 1, kNodesMax);
    const auto high =
        colon == text.npos ? low : whole_number("", text.substr(colon + 1), 1, kNodesMax);
    out_.nodes_max = 0;  // Not known, where it is refused.
    if (!low || !high || *low > *high)
      return fail("--nnodes",
                  "\"" + text + "\" found, needed a number of nodes from 1 to " +
                      std::to_string(kNodesMax) +
                      ", or the least and the most; write for example 2 or 1:4");
    out_.nodes_min = static_cast<std::int32_t>(*low);
    out_.nodes_max = static_cast<std::int32_t>(*high);
  }

  void read_per_node() {
    const std::string text = arguments_.value("--nproc-per-node").value_or("1");
    if (text == "gpu") out_.per_node_is = PerNode::Devices;
    if (text == "cpu") out_.per_node_is = PerNode::Cores;
    if (text == "auto") out_.per_node_is = PerNode::DevicesElseCores;
    if (out_.per_node_is != PerNode::Number) return;
    const auto value = whole_number("", text, 1, kPerNodeMax);
    out_.per_node = value ? static_cast<std::int32_t>(*value) : 0;
    if (!value)
      fail("--nproc-per-node",
           "\"" + text + "\" found, needed processes of a node, a number from 1 to " +
               std::to_string(kPerNodeMax) + ", or gpu, cpu or auto; write for example 8");
  }

  void read_shares() {
    out_.devices = number("--devices-per-proc", 0, kDevicesMax);
    if (out_.devices == 0 && out_.per_node_is == PerNode::Devices)
      fail("--devices-per-proc",
           "0 found beside --nproc-per-node gpu, which counts devices; write a number of "
           "processes");
    out_.cpus = arguments_.value("--cpus-per-proc").value_or("");
    if (const auto cpu = scenarios::parse_cpu(out_.cpus);
        !out_.cpus.empty() && (!cpu || cpu->count <= 0))
      fail("--cpus-per-proc",
           "\"" + out_.cpus +
               "\" found, needed cores of a process; write for example 4, 0.5 or "
               "500m");
    out_.memory = arguments_.value("--memory-per-proc").value_or("");
    if (const auto memory = scenarios::parse_size(out_.memory);
        !out_.memory.empty() && (!memory || memory->count <= 0))
      fail("--memory-per-proc",
           "\"" + out_.memory +
               "\" found, needed memory of a process with its unit; write for "
               "example 16GiB");
  }

  void read_command() {
    const bool is_module = arguments_.has("--module");
    const bool as_it_is = arguments_.has("--no-python");
    const std::vector<std::string>& words = arguments_.operands();
    if (is_module && as_it_is)
      fail("--module", "found beside --no-python, but only Python has modules; leave one out");
    if (is_module || (!as_it_is && words.front().ends_with(".py"))) {
      const auto python = caller_.variable("PYTHON_EXEC");
      out_.command = {python && !python->empty() ? *python : "python3", "-u"};
      if (is_module) out_.command.emplace_back("-m");
    }
    out_.command.insert(out_.command.end(), words.begin(), words.end());
    if (!arguments_.has("--node-check")) return;
    // Agents elsewhere have it on their path, where it was installed with them.
    out_.check_program = "orrery-check";
    if (arguments_.has("--standalone") && !caller_.check_program.empty())
      out_.check_program = caller_.check_program;
  }

  void read_names() {
    const auto name = arguments_.value("--name");
    const auto id = arguments_.value("--rdzv-id");
    if (name && id)
      fail("--name", "found beside --rdzv-id, and either is the name of the job; leave one out");
    out_.name = name_of_program(arguments_.operands().front(), arguments_.has("--module"));
    if (name) {
      const std::size_t dot = name->find('.');
      const std::string own = dot == name->npos ? *name : name->substr(dot + 1);
      if (!is_dns_label(own) || (dot != name->npos && !is_dns_label(name->substr(0, dot))))
        fail("--name",
             "\"" + *name +
                 "\" found, needed 1 to 63 of a-z, 0-9 and -, with a letter or digit at both "
                 "ends; write for example " +
                 (as_name(*name).empty() ? "train" : as_name(*name)));
      out_.name = *name;
      out_.name_is_free = false;
    } else if (id && as_name(*id).empty()) {
      fail("--rdzv-id", "\"" + *id + "\" found, needed some letter or digit; write --name train");
    } else if (id && !arguments_.has("--standalone")) {
      out_.name = as_name(*id);
      if (out_.name != *id) out_.notes.push_back("--rdzv-id: the job is called " + out_.name);
      out_.name_is_free = *id == "none";  // What torchrun says where none is given.
    } else if (id) {
      out_.name = as_name(*id);
    }
    out_.role = arguments_.value("--role").value_or("default");
    if (!is_dns_label(out_.role))
      fail("--role",
           "\"" + out_.role +
               "\" found, needed 1 to 63 of a-z, 0-9 and -, with a letter or digit at both ends; "
               "leave it out, or write for example trainer");
    out_.priority = arguments_.value("--priority").value_or("");
    if (const std::string& text = out_.priority;
        !text.empty() && !is_priority_class_name(text) && !scenarios::parse_integer(text))
      fail("--priority",
           "\"" + text +
               "\" found, needed normal, high, a class of the controller or a whole number");
    out_.group = arguments_.value("--group").value_or("");
  }

  void read_environment() {
    for (const std::string& text : arguments_.values("--env")) {
      const std::size_t equals = text.find('=');
      const std::string key = text.substr(0, equals);
      if (!is_variable(key)) {
        fail("--env",
             "\"" + text +
                 "\" found, needed NAME=value, or the NAME of a variable that is set "
                 "here; write for example SEED=1");
      } else if (std::ranges::count(out_.environment, key, &KeyValue::key) > 0) {
        fail("--env", key + " twice, needed once; keep one of them");
      } else if (equals != text.npos) {
        out_.environment.push_back({key, text.substr(equals + 1)});
      } else if (const auto value = caller_.variable(key)) {
        out_.environment.push_back({key, *value});
      } else {
        fail("--env",
             key + " is not set here, a value is needed; write " + key + "=value, or set it");
      }
    }
    const bool given = std::ranges::count(out_.environment, "OMP_NUM_THREADS", &KeyValue::key) > 0;
    if (!given) out_.threads = caller_.variable("OMP_NUM_THREADS").value_or("1");
  }

  /// The ranks that `option` lists, of which there are `count` at most: 0 where that is not known.
  std::vector<std::uint64_t> ranks(const char* option, std::uint64_t count, const char* whose) {
    std::vector<std::uint64_t> out;
    const auto text = arguments_.value(option);
    if (!text) return out;
    const std::string name = std::string("orrery run: ") + option;
    const auto words = comma_list(name, *text);
    if (!words) {
      keep(words.errors());
      return out;
    }
    for (const std::string& word : *words) {
      const auto rank = whole_number(name, word, 0, kFilteredRankMax);
      if (!rank) {
        keep(rank.errors());
      } else if (count > 0 && *rank >= count) {
        // Nothing would be shown of it, ever, and the command look as if the job were silent.
        fail(option,
             word + " found, but " + whose + " has " + std::to_string(count) +
                 (count == 1 ? " process" : " processes") + " at most, counted from 0; write " +
                 (count == 1 ? "0" : "0 to " + std::to_string(count - 1)) + ", or leave it out");
      } else {
        out.push_back(*rank);
      }
    }
    return out;
  }

  void read_filter() {
    const bool is_number = out_.per_node_is == PerNode::Number;
    const auto per_node = static_cast<std::uint64_t>(is_number ? out_.per_node : 0);
    const auto nodes = static_cast<std::uint64_t>(out_.nodes_max);
    out_.filter.ranks = ranks("--ranks", nodes * per_node, "the job");
    out_.filter.local_ranks = ranks("--local-ranks-filter", per_node, "a node");
    if (arguments_.has("--ranks") && arguments_.has("--local-ranks-filter"))
      fail("--ranks", "found beside --local-ranks-filter, needed one of them; leave one out");
    if (out_.is_elastic() && arguments_.has("--local-ranks-filter"))
      fail("--local-ranks-filter",
           "found with a range of --nnodes, where a node may have any number of processes; write "
           "--ranks, which counts in the job");
  }

  void read_sets() {
    out_.sets = arguments_.values("--set");
    for (const std::string& set : out_.sets)
      if (const auto parsed = scenarios::parse_override(set); !parsed) keep(parsed.errors());
    if (arguments_.has("--ports") && !arguments_.has("--standalone"))
      fail("--ports",
           "found without --standalone, but the agents of a cluster have ports of their own; leave "
           "it out");
    if (arguments_.has("--standalone") && arguments_.has("--detach"))
      fail("--detach",
           "found beside --standalone, whose controller ends with this command; leave one out");
    if (arguments_.has("--standalone") && arguments_.has("--server"))
      fail("--server",
           "found beside --standalone, which starts a controller of its own; leave one out");
  }

  const Arguments& arguments_;
  const Caller& caller_;
  RunRequest out_;
  Errors errors_;
};

}  // namespace

Caller Caller::of_this_process() {
  return {.folder = present_folder(),
          .check_program = program_beside("orrery-check"),
          .variable = [](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            if (value == nullptr) return std::nullopt;
            return value;
          }};
}

Result<RunRequest> run_request(const Arguments& arguments, const Caller& caller) {
  return Reading(arguments, caller).read();
}

}  // namespace orrery::cli
