#include "sim/traces/orrery_csv.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "sim/traces/csv_rows.hpp"
#include "sim/traces/fields.hpp"
#include "sim/traces/trace_builder.hpp"

namespace orrery::sim {
namespace {

enum Column : std::size_t {
  Name,
  Submit,
  Run,
  Gpus,
  GpuMilli,
  Instances,
  CpuMilli,
  MemoryMib,
  Models,
  Kind,
  Vc,
  User,
  Status,
  CensoredColumn,
  Weight,
  Estimate,
  Wait,
};

constexpr std::array<CsvColumn, 17> kColumns = {{{"name"},
                                                 {"submit_s"},
                                                 {"duration_s"},
                                                 {"gpus"},
                                                 {"gpu_milli", false},
                                                 {"instances", false},
                                                 {"cpu_milli", false},
                                                 {"memory_mib", false},
                                                 {"models", false},
                                                 {"kind", false},
                                                 {"vc", false},
                                                 {"user", false},
                                                 {"status", false},
                                                 {"censored", false},
                                                 {"weight", false},
                                                 {"estimate_s", false},
                                                 {"wait_s", false}}};

constexpr std::int64_t kAmountMax = 1'000'000'000'000'000;

// The year 2102: other forms have dates, which are of 2100 at most, in any zone.
constexpr Duration kSubmitMax = Duration::seconds(4'165'516'800);

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 2 < text.size()) {
      const auto high = hex_digit(text[at + 1]);
      const auto low = hex_digit(text[at + 2]);
      if (high && low) {
        out += static_cast<char>(*high * 16 + *low);
        at += 2;
        continue;
      }
    }
    out += text[at];
  }
  return out;
}

/// `text` such that no byte of it ends a field, and decoded() gives it back.
std::string encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool edge = at == 0 || at + 1 == text.size();
    if (byte < 0x20 || byte == ',' || byte == '%' || byte == '"' || byte == 0x7f ||
        (byte == ' ' && edge)) {
      out += '%';
      out += kDigits[byte / 16];
      out += kDigits[byte % 16];
    } else {
      out += text[at];
    }
  }
  return out;
}

class NormalReader {
 public:
  NormalReader(std::string_view text, std::string_view file, const TraceOptions& options)
      : builder_(file, "orrery", options),
        rows_(text, kColumns, true, builder_.errors()),
        fields_(builder_.errors()) {}

  Result<Trace> read() {
    while (rows_.next()) read_row();
    return builder_.finish();
  }

 private:
  std::int64_t whole(Column column, std::int64_t low, std::int64_t high, std::int64_t absent) {
    const std::string_view text = rows_.field(column);
    return text.empty() ? absent : fields_.whole(rows_.name(column), text, low, high);
  }

  std::optional<Duration> time(Column column) {
    if (rows_.field(column).empty()) return std::nullopt;
    return fields_.seconds(rows_.name(column), rows_.field(column), kTraceDurationMax);
  }

  void read_row() {
    if (!builder_.row(rows_.row())) return;
    fields_.start(rows_.line());
    TraceJob job;
    job.name = decoded(rows_.field(Name));
    if (job.name.empty()) fields_.refuse("name", "", "the name of the job");
    job.submit = Instant::zero() + fields_.seconds("submit_s", rows_.field(Submit), kSubmitMax);
    job.duration = fields_.seconds("duration_s", rows_.field(Run), kTraceDurationMax);
    job.gpus = static_cast<int>(fields_.whole("gpus", rows_.field(Gpus), 0, kTraceGpusMax));
    const std::int64_t most = std::int64_t{1000} * job.gpus;
    job.gpu_milli = whole(GpuMilli, job.gpus, most, most);
    job.instances = static_cast<int>(whole(Instances, 1, kTraceGpusMax, 1));
    job.cpu_milli = whole(CpuMilli, 0, kAmountMax, 0);
    job.memory_mib = whole(MemoryMib, 0, kAmountMax, 0);
    job.models = decoded(rows_.field(Models));
    job.kind = decoded(rows_.field(Kind));
    job.vc = decoded(rows_.field(Vc));
    job.user = decoded(rows_.field(User));
    job.status = status();
    job.censored = whole(CensoredColumn, 0, 1, 0) == 1;
    if (const auto text = rows_.field(Weight); !text.empty())
      job.weight = fields_.number("weight", text, 1e-6, 1e6);
    job.estimate = time(Estimate);
    job.waited = time(Wait);
    if (fields_.ok()) builder_.add(std::move(job));
  }

  TraceStatus status() {
    const std::string_view text = rows_.field(Status);
    if (text.empty()) return TraceStatus::Unknown;
    for (const TraceStatus status :
         {TraceStatus::Unknown, TraceStatus::Pass, TraceStatus::Killed, TraceStatus::Failed})
      if (text == to_string(status)) return status;
    fields_.refuse("status", text, "one of Pass, Killed, Failed, Unknown");
    return TraceStatus::Unknown;
  }

  TraceBuilder builder_;
  CsvRows rows_;
  FieldReader fields_;
};

std::string number_text(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end};
}

std::string row_of(const TraceJob& job, Instant origin) {
  const auto count = [](std::int64_t amount) {
    return "," + (amount == 0 ? std::string() : std::to_string(amount));
  };
  const auto time = [](const std::optional<Duration>& duration) {
    return "," + (duration ? seconds_text(duration->ns) : std::string());
  };
  std::string row = encoded(job.name) + "," + seconds_text(origin.ns + job.submit.ns) + "," +
                    seconds_text(job.duration.ns) + "," + std::to_string(job.gpus);
  row += "," + std::to_string(job.gpu_milli) + "," + std::to_string(job.instances);
  row += count(job.cpu_milli) + count(job.memory_mib);
  for (const std::string& text : {job.models, job.kind, job.vc, job.user})
    row += "," + encoded(text);
  row += "," +
         (job.status == TraceStatus::Unknown ? std::string() : std::string(to_string(job.status)));
  row += job.censored ? ",1" : ",";
  row += "," + (job.weight == 1.0 ? std::string() : number_text(job.weight));
  return row + time(job.estimate) + time(job.waited) + "\n";
}

}  // namespace

bool looks_like_orrery_csv(std::string_view text) {
  return header_has(text, {"submit_s", "duration_s"});
}

Result<Trace> parse_orrery_csv(std::string_view text,
                               std::string_view file_name,
                               const TraceOptions& options) {
  return NormalReader(text, file_name, options).read();
}

std::string orrery_csv(const Trace& trace) {
  std::string out;
  for (const CsvColumn& column : kColumns)
    out += (out.empty() ? "" : ",") + std::string(column.name);
  out += "\n";
  for (const TraceJob& job : trace.jobs) out += row_of(job, trace.origin);
  return out;
}

}  // namespace orrery::sim
