#include "tools/client/http_response.hpp"

#include <algorithm>

#include "core/base/number_text.hpp"
#include "tools/client/socket_stream.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kHeadMax = 64 << 10;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return out;
}

Error no_http(std::string_view found) {
  return unavailable("it does not speak HTTP: found \"" + std::string(found.substr(0, 60)) + "\"");
}

bool read_number(std::string_view text, std::uint64_t& out, int base) {
  const std::optional<std::uint64_t> number = parsed_number<std::uint64_t>(text, base);
  out = number.value_or(out);
  return number.has_value();
}

}  // namespace

Status ResponseReader::fill(Deadline deadline) {
  char bytes[16 << 10];
  const Result<std::size_t> got = stream_.read(bytes, sizeof bytes, deadline);
  if (!got) return got.errors();
  closed_ = *got == 0;
  heard_ = heard_ || *got > 0;
  buffer_.append(bytes, *got);
  return Done{};
}

Result<std::string> ResponseReader::line(Deadline deadline) {
  std::size_t end = 0;
  while ((end = buffer_.find('\n')) == buffer_.npos) {
    if (buffer_.size() > kHeadMax) return no_http(buffer_);
    if (closed_ && heard_)
      return unavailable("it closed the connection in the middle of its answer");
    if (closed_)
      return unavailable(
          "it closed the connection without an answer; a server that speaks TLS is named by "
          "https://");
    if (const Status filled = fill(deadline); !filled) return filled.errors();
  }
  std::string out = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  if (out.ends_with('\r')) out.pop_back();
  return out;
}

Status ResponseReader::take_header(std::string_view text, ResponseHead& head) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return no_http(text);
  const std::string name = lower(text.substr(0, colon));
  const std::string_view value = trimmed(text.substr(colon + 1));
  if (name == "content-type") {
    head.content_type = value;
  } else if (name == "location") {
    head.location = value;
  } else if (name == "transfer-encoding" && lower(value) == "chunked") {
    framing_ = Framing::Chunked;
  } else if (name == "content-length" && framing_ != Framing::Chunked) {
    if (!read_number(value, left_, 10)) return no_http(text);
    framing_ = Framing::Length;
  }
  return Done{};
}

Result<ResponseHead> ResponseReader::head(Deadline deadline) {
  const Result<std::string> first = line(deadline);
  if (!first) return first.errors();
  ResponseHead head;
  std::uint64_t status = 0;
  if (!first->starts_with("HTTP/1.") || first->size() < 12 ||
      !read_number(std::string_view(*first).substr(9, 3), status, 10))
    return no_http(*first);
  head.status = static_cast<int>(status);
  std::size_t size = 0;
  while (true) {
    const Result<std::string> header = line(deadline);
    if (!header) return header.errors();
    if (header->empty()) break;
    size += header->size();
    if (size > kHeadMax) return no_http(*header);
    if (const Status taken = take_header(*header, head); !taken) return taken.errors();
  }
  done_ = head.status == 204 || (framing_ == Framing::Length && left_ == 0);
  return head;
}

Status ResponseReader::next_chunk(Deadline deadline) {
  if (in_chunk_) {  // The line end that closes a chunk.
    const Result<std::string> end = line(deadline);
    if (!end) return end.errors();
  }
  const Result<std::string> size = line(deadline);
  if (!size) return size.errors();
  if (!read_number(trimmed(std::string_view(*size).substr(0, size->find(';'))), left_, 16))
    return no_http(*size);
  in_chunk_ = true;
  return left_ == 0 ? end_of_chunks(deadline) : Status(Done{});
}

Status ResponseReader::end_of_chunks(Deadline deadline) {
  done_ = true;
  while (true) {
    const Result<std::string> trailer = line(deadline);
    if (!trailer) return trailer.errors();
    if (trailer->empty()) return Done{};
  }
}

Result<std::string> ResponseReader::body(Deadline deadline) {
  if (framing_ == Framing::Chunked && left_ == 0 && !done_)
    if (const Status next = next_chunk(deadline); !next) return next.errors();
  if (done_) return std::string();
  if (buffer_.empty() && !closed_)
    if (const Status filled = fill(deadline); !filled) return filled.errors();
  if (framing_ == Framing::UntilClose) {
    done_ = closed_ && buffer_.empty();
    return std::exchange(buffer_, {});
  }
  if (buffer_.empty()) return unavailable("it closed the connection in the middle of its answer");
  const std::size_t taken = std::min<std::uint64_t>(left_, buffer_.size());
  std::string out = buffer_.substr(0, taken);
  buffer_.erase(0, taken);
  left_ -= taken;
  if (framing_ == Framing::Length) done_ = left_ == 0;
  return out;
}

}  // namespace orrery::cli
