#include "runtime/http/request_reader.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <optional>
#include <utility>

namespace orrery::http {
namespace beast = boost::beast;

namespace {

using Parser = beast::http::request_parser<beast::http::string_body>;

RequestReader::Refusal refusal_of(beast::error_code why, const RequestLimits& limits) {
  using beast::http::error;
  if (why == error::header_limit)
    return {431,
            "the header is larger than " + std::to_string(limits.header_bytes_max) +
                " bytes; send fewer or shorter header fields"};
  if (why == error::body_limit || why == error::buffer_overflow)
    return {413,
            "the body is larger than " + std::to_string(limits.body_bytes_max) +
                " bytes; send less at once"};
  if (why == error::bad_version) return {505, "HTTP/1.0 and HTTP/1.1 are understood, nothing else"};
  return {400, "this is no HTTP request: " + why.message()};
}

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

}  // namespace

struct RequestReader::Impl {
  explicit Impl(const RequestLimits& bounds) : limits(bounds) { begin(); }

  RequestLimits limits;
  beast::flat_buffer buffer;
  std::optional<Parser> parser;
  Refusal refusal;
  bool refused = false;
  bool continue_told = false;
  bool length_judged = false;  ///< Of the request at hand.

  void begin() {
    parser.emplace();
    parser->eager(true);
    parser->header_limit(static_cast<std::uint32_t>(limits.header_bytes_max));
    parser->body_limit(limits.body_bytes_max);
    continue_told = length_judged = false;
  }

  Found refuse(Refusal why) {
    refusal = std::move(why);
    refused = true;
    return Found::Refused;
  }

  // Empty lines before a request line are skipped, as old clients send them.
  void skip_empty_lines() {
    if (parser->got_some()) return;
    while (buffer.size() > 0) {
      const char first = *static_cast<const char*>(buffer.data().data());
      if (first != '\r' && first != '\n') return;
      buffer.consume(1);
    }
  }

  // Where a proxy before us could read it differently, one of the two would see another request.
  bool refuse_unclear_length() {
    const auto& message = parser->get();
    const auto coding = beast::http::field::transfer_encoding;
    const std::size_t codings = message.count(coding);
    const std::size_t lengths = message.count(beast::http::field::content_length);
    if (codings == 0 && lengths <= 1) return false;
    if (codings > 0 && message.version() < 11) {
      refuse({400, "HTTP/1.0 knows no Transfer-Encoding; send a Content-Length"});
    } else if (codings > 0 && lengths > 0) {
      refuse({400, "Transfer-Encoding and Content-Length both say how long the body is; send one"});
    } else if (lengths > 1) {
      refuse({400, "Content-Length stands more than once; send one"});
    } else if (codings > 1 || !same_name(text(message[coding]), "chunked")) {
      refuse({501,
              "Transfer-Encoding '" + text(message[coding]).substr(0, 80) +
                  "' is not understood; send chunked, or a Content-Length"});
    } else {
      return false;
    }
    return true;
  }

  Found parse() {
    skip_empty_lines();
    while (buffer.size() > 0 && !parser->is_done()) {
      beast::error_code why;
      const std::size_t used = parser->put(buffer.data(), why);
      buffer.consume(used);
      if (parser->is_header_done() && !length_judged) {
        length_judged = true;
        if (refuse_unclear_length()) return Found::Refused;
      }
      if (why == beast::http::error::need_more) break;
      if (why) return refuse(refusal_of(why, limits));
      if (used == 0) break;
    }
    return parser->is_done() ? Found::Request : Found::Nothing;
  }
};

RequestReader::RequestReader(const RequestLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}

RequestReader::~RequestReader() = default;

void RequestReader::feed(std::string_view bytes) {
  const auto space = impl_->buffer.prepare(bytes.size());
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(space.data()));
  impl_->buffer.commit(bytes.size());
}

RequestReader::Found RequestReader::look() {
  return impl_->refused ? Found::Refused : impl_->parse();
}

Request RequestReader::take() {
  Request out;
  auto& message = impl_->parser->get();
  out.keep_alive = impl_->parser->keep_alive();
  out.http_1_0 = message.version() < 11;
  out.method = text(message.method_string());
  out.target = text(message.target());
  for (const auto& field : message)
    out.headers.push_back({text(field.name_string()), text(field.value())});
  out.body = std::move(message.body());
  impl_->begin();
  return out;
}

const RequestReader::Refusal& RequestReader::refusal() const { return impl_->refusal; }

bool RequestReader::has_begun() const {
  return impl_->parser->got_some() || impl_->buffer.size() > 0;
}

bool RequestReader::in_body() const {
  return impl_->parser->is_header_done() && !impl_->parser->is_done();
}

bool RequestReader::take_continue() {
  if (!in_body() || impl_->continue_told) return false;
  impl_->continue_told = true;
  const auto wanted = impl_->parser->get()[beast::http::field::expect];
  return same_name(text(wanted), "100-continue") && impl_->buffer.size() == 0;
}

std::size_t RequestReader::waiting_bytes() const { return impl_->buffer.size(); }

}  // namespace orrery::http
