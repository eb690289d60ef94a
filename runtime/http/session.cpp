#include "runtime/http/session.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace orrery::http {
namespace {

constexpr std::size_t kWriteBytes = 256 << 10;  // At once, so that a slow reader shows progress.
constexpr std::size_t kMergeBytes = 64 << 10;   // Small pieces go out together.
constexpr std::size_t kLargeAnswer = 64
                                     << 10;    // Those count against what may wait for all clients.
constexpr std::size_t kLingerBytes = 1 << 20;  // Thrown away of what a refused client still sends.
constexpr Duration kLinger = Duration::seconds(1);
constexpr Duration kAfterEndOfInput = Duration::seconds(5);

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

// No header value can begin another line.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (const char c : value) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  out += "\r\n";
}

}  // namespace

Session::Session(std::shared_ptr<SharedParts> shared,
                 std::shared_ptr<ByteLink> link,
                 Connection connection)
    : shared_(std::move(shared)),
      link_(std::move(link)),
      connection_(std::move(connection)),
      reader_(shared_->limits.request) {
  ++shared_->figures->connections;
  ++shared_->figures->connections_open;
}

void Session::expect_within(Duration limit) {
  deadline_ = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.ns);
}

void Session::start() {
  expect_within(shared_->limits.handshake);
  link_->shake_hands(connection_, [self = shared_from_this(), link = link_](const auto& why, auto) {
    if (self->phase_ != Phase::Handshake) return;
    if (why) {
      ++self->shared_->figures->connections_refused;
      return self->close();
    }
    self->phase_ = Phase::Reading;
    if (self->shared_->stopping) return self->close();
    self->proceed();
  });
}

// --- requests ---

void Session::proceed() {
  switch (reader_.look()) {
    case RequestReader::Found::Request:
      return handle(reader_.take());
    case RequestReader::Found::Refused:
      return refuse(reader_.refusal().status, reader_.refusal().message);
    case RequestReader::Found::Nothing:
      break;
  }
  if (input_ended_) return close();
  if (reader_.take_continue()) queue("HTTP/1.1 100 Continue\r\n\r\n");
  if (reader_.in_body() && !in_body_) {
    begun_ = in_body_ = true;
    expect_within(shared_->limits.body);
  } else if (reader_.has_begun() && !begun_) {
    begun_ = true;
    expect_within(shared_->limits.header);
  } else if (!reader_.has_begun()) {
    expect_within(shared_->limits.idle);
  }
  read_some();
}

void Session::read_some() {
  if (reading_ || input_ended_ || phase_ == Phase::Closed) return;
  reading_ = true;
  link_->read(boost::asio::buffer(in_),
              [self = shared_from_this(), link = link_](const auto& why, std::size_t size) {
                self->on_read(why, size);
              });
}

void Session::on_read(const boost::system::error_code& why, std::size_t size) {
  reading_ = false;
  if (phase_ == Phase::Closed) return;
  if (why) return on_end_of_input(why);
  if (phase_ == Phase::Lingering) {
    lingered_ += size;
    return lingered_ > kLingerBytes ? close() : read_some();
  }
  reader_.feed({in_.data(), size});
  // While a request is handled one more piece is taken, and kept for later.
  if (phase_ == Phase::Reading) proceed();
}

void Session::on_end_of_input(const boost::system::error_code& why) {
  input_ended_ = true;
  const bool answer_under_way = phase_ == Phase::Handling || phase_ == Phase::Answering;
  if (why != boost::asio::error::eof || !answer_under_way) return close();
  // It may have closed its sending half only, and want the answer.
  close_after_ = true;
  if (phase_ == Phase::Handling) expect_within(kAfterEndOfInput);
}

void Session::handle(Request request) {
  phase_ = Phase::Handling;
  begun_ = in_body_ = false;
  expect_nothing();
  request_ = ++requests_;
  request.connection = connection_;
  http_1_0_ = request.http_1_0;
  head_only_ = request.method == "HEAD";
  close_after_ = !request.keep_alive || shared_->stopping;
  const std::uint64_t number = request_;
  shared_->handler(std::move(request), make_exchange(shared_from_this(), number));
  // Only so is it seen that the client has gone.
  if (request_ == number && phase_ != Phase::Closed && reader_.waiting_bytes() == 0) read_some();
}

void Session::refuse(int status, const std::string& message) {
  Response response;
  response.status = status;
  response.body = error_body(message);
  close_after_ = linger_after_ = true;
  phase_ = Phase::Answering;
  shared_->figures->count_answer(status);
  queue(head_of(response, false) + response.body);
}

// --- answers ---

bool Session::is_current(std::uint64_t request) const {
  return request == request_ && phase_ != Phase::Closed;
}

std::string Session::head_of(const Response& response, bool in_pieces) const {
  std::string out = http_1_0_ ? "HTTP/1.0 " : "HTTP/1.1 ";
  out.append(std::to_string(response.status)).append(" ");
  out.append(reason_phrase(response.status)).append("\r\n");
  append_header(out, "Date", date_now());
  if (response.status != 204) append_header(out, "Content-Type", response.content_type);
  for (const Header& each : response.headers) append_header(out, each.name, each.value);
  if (in_pieces && in_pieces_) append_header(out, "Transfer-Encoding", "chunked");
  if (!in_pieces && response.status != 204)
    append_header(out, "Content-Length", std::to_string(response.body.size()));
  if (close_after_) {
    append_header(out, "Connection", "close");
  } else if (http_1_0_) {
    append_header(out, "Connection", "keep-alive");
  }
  return out += "\r\n";
}

void Session::respond(std::uint64_t request, Response response) {
  if (!is_current(request) || phase_ != Phase::Handling) return;
  // Large answers that nobody takes would fill the memory; small ones are bounded by connections.
  if (response.body.size() > kLargeAnswer &&
      shared_->queued_bytes + response.body.size() > shared_->limits.queued_bytes_max) {
    ++shared_->figures->cut_off;
    Response refusal;
    refusal.status = 503;
    refusal.headers.push_back({"Retry-After", "5"});
    refusal.body = error_body(
        "the answer has " + std::to_string(response.body.size()) +
        " bytes, and more than may wait for slow clients is waiting already; ask again later, or "
        "for less, as with limit=100");
    response = std::move(refusal);
  }
  shared_->figures->count_answer(response.status);
  phase_ = Phase::Answering;
  std::string out = head_of(response, false);
  if (!head_only_ && response.status != 204) out += response.body;
  queue(std::move(out));
}

void Session::begin(std::uint64_t request, Response head) {
  if (!is_current(request) || phase_ != Phase::Handling) return;
  shared_->figures->count_answer(head.status);
  ++shared_->figures->streams_open;
  phase_ = Phase::Streaming;
  expect_nothing();
  in_pieces_ = !http_1_0_;
  close_after_ = close_after_ || http_1_0_;
  std::string first = std::move(head.body);
  queue(head_of(head, true));
  if (head_only_ || shared_->stopping) return finish(request);
  if (!first.empty()) write(request, std::move(first));
}

void Session::write(std::uint64_t request, std::string piece) {
  if (!is_current(request) || phase_ != Phase::Streaming || piece.empty()) return;
  queue_piece(piece);
}

void Session::queue_piece(const std::string& piece) {
  if (!in_pieces_) return queue(piece);
  std::array<char, 24> size{};
  const int written = std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
  queue(std::string(size.data(), static_cast<std::size_t>(written)) + piece + "\r\n");
}

void Session::finish(std::uint64_t request) {
  if (!is_current(request) || phase_ != Phase::Streaming) return;
  --shared_->figures->streams_open;
  phase_ = Phase::Answering;
  if (in_pieces_ && !head_only_) return queue("0\r\n\r\n");
  if (out_.empty() && !writing_) end_answer();
}

void Session::abort(std::uint64_t request) {
  if (is_current(request)) close();
}

void Session::keep(std::uint64_t request, std::shared_ptr<void> something) {
  if (is_current(request)) kept_.push_back(std::move(something));
}

void Session::queue(std::string bytes) {
  out_bytes_ += bytes.size();
  shared_->queued_bytes += bytes.size();
  const ServerLimits& limits = shared_->limits;
  const bool too_much = out_bytes_ > limits.stream_bytes_max ||
                        (shared_->queued_bytes > limits.queued_bytes_max && out_.size() > 1);
  if (phase_ == Phase::Streaming && too_much) {
    ++shared_->figures->cut_off;
    return close();
  }
  // The front may be on its way out.
  if (out_.size() > 1 && out_.back().size() + bytes.size() <= kMergeBytes) {
    out_.back() += bytes;
  } else {
    out_.push_back(std::move(bytes));
  }
  flush();
}

void Session::flush() {
  if (writing_ || out_.empty()) return;
  writing_ = true;
  expect_within(shared_->limits.write);
  const std::string& front = out_.front();
  const std::size_t size = std::min(front.size() - out_sent_, kWriteBytes);
  link_->write({front.data() + out_sent_, size},
               [self = shared_from_this(), link = link_](const auto& why, std::size_t written) {
                 self->on_written(why, written);
               });
}

void Session::on_written(const boost::system::error_code& why, std::size_t size) {
  writing_ = false;
  if (phase_ == Phase::Closed) return;
  if (why) return close();
  out_sent_ += size;
  out_bytes_ -= size;
  shared_->queued_bytes -= size;
  if (out_sent_ == out_.front().size()) {
    out_.pop_front();
    out_sent_ = 0;
  }
  if (!out_.empty()) return flush();
  if (phase_ == Phase::Answering) return end_answer();
  if (phase_ == Phase::Streaming) expect_nothing();
  if (phase_ == Phase::Reading) expect_within(shared_->limits.body);  // It was told to go on.
}

void Session::end_answer() {
  request_ = 0;
  kept_.clear();
  if (linger_after_) return linger();
  if (close_after_) return close();
  phase_ = Phase::Reading;
  waiting_since_ = std::chrono::steady_clock::now();
  in_pieces_ = head_only_ = false;
  proceed();
}

void Session::linger() {
  phase_ = Phase::Lingering;
  link_->end_writing();
  expect_within(kLinger);
  read_some();
}

// --- ends ---

void Session::check_deadline(SteadyTime now) {
  if (now < deadline_) return;
  if (phase_ == Phase::Reading && begun_ && !writing_) {
    ++shared_->figures->cut_off;
    expect_within(shared_->limits.write);
    return refuse(408, "the request did not come to its end in time; send it faster");
  }
  if (writing_ || phase_ == Phase::Handshake) ++shared_->figures->cut_off;
  close();
}

bool Session::may_be_replaced() const {
  return phase_ == Phase::Reading && !writing_ && !reader_.in_body();
}

void Session::begin_stop() {
  close_after_ = true;
  if (phase_ == Phase::Reading || phase_ == Phase::Handshake || phase_ == Phase::Lingering)
    return close();
  if (phase_ == Phase::Streaming) finish(request_);
}

void Session::refuse_late() {
  if (phase_ != Phase::Handling) return;
  Response response;
  response.status = 503;
  response.body = error_body("the server stops; ask again when it is back");
  respond(request_, std::move(response));
}

void Session::close() {
  if (phase_ == Phase::Closed) return;
  if (phase_ == Phase::Streaming) --shared_->figures->streams_open;
  phase_ = Phase::Closed;
  request_ = 0;
  --shared_->figures->connections_open;
  shared_->queued_bytes -= out_bytes_;
  out_bytes_ = 0;
  link_->close();
  const auto self = shared_from_this();
  shared_->sessions.erase(self);
  // What is let go of may be the last to know of other sessions.
  const auto kept = std::move(kept_);
  link_.reset();
}

}  // namespace orrery::http
