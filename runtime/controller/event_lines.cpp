#include "runtime/controller/event_lines.hpp"

#include <algorithm>
#include <utility>

namespace orrery::runtime {

void EventLines::add(EventLine line) {
  line.number = ++last_;
  followers_.tell(line, [&] {
    lines_.push_back(line);
    while (lines_.size() > kept_) lines_.pop_front();
  });
}

std::unique_ptr<Subscription> EventLines::follow(std::size_t backlog,
                                                 std::function<void(const EventLine&)> told) {
  return followers_.add(std::move(told), [&](const auto& tell) {
    for (std::size_t i = lines_.size() - std::min(backlog, lines_.size()); i < lines_.size(); ++i)
      tell(lines_[i]);
  });
}

}  // namespace orrery::runtime
