#include <utility>

#include "runtime/http/session.hpp"

namespace orrery::http {
namespace {

class SessionExchange final : public Exchange {
 public:
  SessionExchange(std::shared_ptr<Session> session,
                  std::shared_ptr<Executor> executor,
                  std::uint64_t request)
      : session_(std::move(session)), executor_(std::move(executor)), request_(request) {}

  ~SessionExchange() override {
    if (answered_) return;
    Response response;
    response.status = 503;
    response.body = error_body("the controller has ended, or is ending; ask again");
    respond(std::move(response));
  }

  SessionExchange(const SessionExchange&) = delete;
  SessionExchange& operator=(const SessionExchange&) = delete;

  void respond(Response response) override {
    answered_ = true;
    run([response = std::move(response)](Session& session, std::uint64_t request) mutable {
      session.respond(request, std::move(response));
    });
  }

  void begin(Response head) override {
    answered_ = true;
    run([head = std::move(head)](Session& session, std::uint64_t request) mutable {
      session.begin(request, std::move(head));
    });
  }

  void write(std::string piece) override {
    run([piece = std::move(piece)](Session& session, std::uint64_t request) mutable {
      session.write(request, std::move(piece));
    });
  }

  void finish() override {
    run([](Session& session, std::uint64_t request) { session.finish(request); });
  }

  void abort() override {
    answered_ = true;
    run([](Session& session, std::uint64_t request) { session.abort(request); });
  }

  bool is_open() const override { return session_->awaits(request_); }

  void keep(std::shared_ptr<void> something) override {
    run([something = std::move(something)](Session& session, std::uint64_t request) mutable {
      session.keep(request, std::move(something));
    });
  }

 private:
  template <class Do>
  void run(Do what) {
    if (!is_open()) return;
    executor_->post([session = session_, request = request_, what = std::move(what)]() mutable {
      what(*session, request);
    });
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<Executor> executor_;
  std::uint64_t request_;
  std::atomic<bool> answered_ = false;
};

}  // namespace

std::shared_ptr<Exchange> make_exchange(const std::shared_ptr<Session>& session,
                                        std::uint64_t request) {
  return std::make_shared<SessionExchange>(session, session->shared().executor, request);
}

}  // namespace orrery::http
