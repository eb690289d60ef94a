#include "policies/round_accounts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include "core/base/invariant.hpp"

namespace orrery::policies {
namespace {

void save_list(ByteWriter& out, const std::vector<double>& list) {
  out.varint(list.size());
  out.f64s(list);
}

/// In one piece: most jobs of a long queue are saved so, after each plan.
void save_untouched(RoundKey key, double need, bool has_shares, ByteWriter& out) {
  std::array<std::byte, 18> text;
  store_little_endian(text.data(), key.job.value);
  store_little_endian(text.data() + 4, key.other.value);
  store_little_endian(text.data() + 8, std::bit_cast<std::uint64_t>(need));
  text[16] = std::byte{1};
  text[17] = std::byte{has_shares};
  out.raw(text);
}

std::vector<double> load_list(ByteReader& in) {
  std::vector<double> list;
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) list.push_back(in.f64());
  return list;
}

}  // namespace

RoundAccounts::Accounts::const_iterator RoundAccounts::find(RoundKey key) const {
  const auto found = std::lower_bound(
      accounts_.begin(), accounts_.end(), key, [](const auto& account, RoundKey wanted) {
        return account.first < wanted;
      });
  return found != accounts_.end() && found->first == key ? found : accounts_.end();
}

const RoundAccounts::Account& RoundAccounts::at(RoundKey key) const {
  const auto found = find(key);
  invariant(found != accounts_.end(), "there are accounts of who is asked for");
  return found->second;
}

void RoundAccounts::add_time(RoundKey key, std::size_t type, double seconds) {
  if (type >= time_s_.size()) return;
  time_s_[type] += seconds;
  const auto found = find(key);
  if (found == accounts_.end()) return;
  Account& account = accounts_[static_cast<std::size_t>(found - accounts_.begin())].second;
  account.time_s[type] += seconds;
  account.is_untouched = false;
}

void RoundAccounts::begin(Account& account, std::size_t types) const {
  account.time_s.assign(types, half_round_s());
  account.deficit_s.assign(types, 0);
  account.shares.clear();
  account.is_untouched = true;
}

void RoundAccounts::leave(JobId job) {
  const auto found = find({job, JobId::none()});
  invariant(found != accounts_.end(), "who leaves has accounts");
  begin(accounts_[static_cast<std::size_t>(found - accounts_.begin())].second, time_s_.size());
  changed_ = true;
}

/// Drops the accounts of who has gone and begins those of who has come.
void RoundAccounts::follow(std::span<const RoundJob> jobs, std::size_t types) {
  const auto is_of = [](const auto& account, const RoundJob& job) {
    return account.first == job.key();
  };
  if (std::equal(accounts_.begin(), accounts_.end(), jobs.begin(), jobs.end(), is_of)) return;
  changed_ = true;
  Accounts next;
  next.reserve(jobs.size());
  auto account = accounts_.begin();  // Both ascend.
  for (const RoundJob& job : jobs) {
    const RoundKey key = job.key();
    while (account != accounts_.end() && account->first < key) ++account;
    if (account != accounts_.end() && account->first == key) {
      next.push_back(std::move(*account++));
      continue;
    }
    begin(next.emplace_back(key, Account{}).second, types);
  }
  accounts_ = std::move(next);
}

/// What the job needs to run; 0: its speed is 0 everywhere, as where its quota leaves no room.
double RoundAccounts::need_of(const RoundJob& job) {
  const auto runs = [](double speed) { return speed > 0; };
  return std::any_of(job.speed.begin(), job.speed.end(), runs) ? job.devices : 0;
}

/// Whether a job that may run needs something else than when shares were computed.
bool RoundAccounts::any_resized(std::span<const RoundJob> jobs) const {
  auto account = accounts_.begin();  // Of these jobs, in their order.
  return std::any_of(jobs.begin(), jobs.end(), [&](const RoundJob& job) {
    const Account& its = (account++)->second;
    const double need = need_of(job);
    return !its.shares.empty() && need > 0 && need != its.need;
  });
}

bool RoundAccounts::update(Instant now,
                           std::span<const RoundJob> jobs,
                           const std::vector<double>& devices) {
  const std::size_t types = devices.size();
  if (time_s_.size() != types) {  // Other types than before: all begins anew.
    accounts_.clear();
    time_s_.assign(types, 0);
    last_reset_ = Instant{};
  }
  changed_ = changed_ || devices_ != devices;
  devices_ = devices;
  follow(jobs, types);
  resized_ = any_resized(jobs);
  if (settings_.at_once && unsettled_ && !changed() && reset_is_due(now)) begin_accounts(now);
  return changed() && (settings_.at_once || reset_is_due(now));
}

bool RoundAccounts::reset_is_due(Instant now) const {
  return last_reset_ == Instant{} || now - last_reset_ >= settings_.reset;
}

void RoundAccounts::begin_accounts(Instant now) {
  const double elapsed_s = (now - last_reset_).in_seconds();
  std::fill(time_s_.begin(), time_s_.end(), 0);
  for (auto& [key, account] : accounts_)
    for (std::size_t j = 0; j < time_s_.size(); ++j) {
      const double owed_s = account.shares.empty() ? 0 : account.shares[j] * elapsed_s;
      account.deficit_s[j] += owed_s - (account.time_s[j] - half_round_s());
      account.time_s[j] = half_round_s();
      time_s_[j] += half_round_s();
    }
  last_reset_ = now;
  unsettled_ = false;
}

void RoundAccounts::set_shares(Instant now,
                               std::span<const RoundJob> jobs,
                               const std::vector<std::vector<double>>& shares) {
  unsettled_ = true;
  if (!settings_.at_once || reset_is_due(now)) begin_accounts(now);
  auto account = accounts_.begin();  // Of these jobs, in their order.
  for (std::size_t i = 0; i < jobs.size(); ++i, ++account) {
    invariant(account != accounts_.end() && account->first == jobs[i].key(),
              "shares are of the jobs that accounts were told of");
    account->second.shares = shares[i];
    account->second.need = need_of(jobs[i]);
  }
  // Accounts that began anew may be untouched now.
  for (auto& [key, each] : accounts_) see_if_untouched(each);
  changed_ = resized_ = false;
}

double RoundAccounts::priority(const RoundJob& job, std::size_t type) const {
  return priority(job, at(job.key()), type);
}

double RoundAccounts::priority(const RoundJob& job,
                               const Account& account,
                               std::size_t type) const {
  constexpr double kNever = 1e9;
  if (account.shares.empty() || account.shares[type] <= 0 || job.speed[type] <= 0) return 0;
  const double share = account.shares[type];
  if (account.time_s[type] <= 0 || time_s_[type] <= 0) return kNever * share;
  return share / (account.time_s[type] / time_s_[type]);
}

double RoundAccounts::deficit(JobId job, std::size_t type) const {
  return at({job, JobId::none()}).deficit_s[type];
}

const std::vector<double>& RoundAccounts::shares(JobId job) const {
  return at({job, JobId::none()}).shares;
}

std::vector<RoundChoice> RoundAccounts::choose(std::span<const RoundJob> jobs,
                                               std::vector<double> devices,
                                               std::span<const std::size_t> order) const {
  constexpr double kRounding = 1e-9;  // Parts of devices are sums of thousandths.
  std::vector<RoundChoice> chosen;
  std::vector<const Account*> accounts;  // Of each job or pair; null: it is taken, or may not run.
  accounts.reserve(jobs.size());
  auto its = accounts_.begin();  // Of these jobs, in their order.
  for (const RoundJob& job : jobs) {
    if (its == accounts_.end() || !(its->first == job.key())) its = find(job.key());
    invariant(its != accounts_.end() && its->first == job.key(),
              "a round is of the jobs that its accounts were told of");
    accounts.push_back(job.may_run ? &its->second : nullptr);
    ++its;
  }
  // Of those by themselves, who come first.
  const auto account_of = [&](JobId id) -> const Account*& {
    const auto at =
        std::lower_bound(jobs.begin(),
                         jobs.end(),
                         RoundKey{id, JobId::none()},
                         [](const RoundJob& a, const RoundKey& b) { return a.key() < b; });
    return accounts[static_cast<std::size_t>(at - jobs.begin())];
  };

  struct Ranked {
    std::int32_t user_priority;
    bool goes_first;
    double priority;
    double deficit;
    double share;
    std::size_t job;
  };

  std::vector<Ranked> ranked;
  ranked.reserve(jobs.size());
  for (const std::size_t type : order) {
    ranked.clear();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (accounts[i] == nullptr || jobs[i].speed[type] <= 0) continue;
      const Account& account = *accounts[i];
      const double rank = priority(jobs[i], account, type);
      if ((settings_.only_shared || jobs[i].key().is_pair()) && rank <= 0) continue;
      ranked.push_back({jobs[i].priority,
                        jobs[i].goes_first,
                        rank,
                        account.deficit_s[type],
                        account.shares.empty() ? 0 : account.shares[type],
                        i});
    }
    std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
      return std::tie(b.user_priority, b.goes_first, b.priority, b.deficit, b.share, a.job) <
             std::tie(a.user_priority, a.goes_first, a.priority, a.deficit, a.share, b.job);
    });
    for (const Ranked& each : ranked) {
      const RoundJob& job = jobs[each.job];
      if (job.devices > devices[type] + kRounding) continue;
      const Account*& own = job.key().is_pair() ? account_of(job.id) : accounts[each.job];
      if (own == nullptr) continue;
      if (job.key().is_pair() && std::exchange(account_of(job.other), nullptr) == nullptr) continue;
      devices[type] -= job.devices;
      const bool is_new = std::exchange(own, nullptr)->shares.empty();
      if (is_new && !settings_.newcomers_run) continue;
      chosen.push_back({job.id, type, job.other, job.devices});
    }
  }
  return chosen;
}

std::vector<JobId> RoundAccounts::sharers() const {
  std::vector<JobId> out;
  for (const auto& [key, account] : accounts_) {
    const bool has = std::any_of(
        account.shares.begin(), account.shares.end(), [](double share) { return share > 0; });
    if (has && !key.is_pair()) out.push_back(key.job);
  }
  return out;
}

void RoundAccounts::see_if_untouched(Account& account) const {
  const auto is_half = [&](double seconds) { return seconds == half_round_s(); };
  const auto is_zero = [](double value) { return value == 0; };
  account.is_untouched = std::all_of(account.time_s.begin(), account.time_s.end(), is_half) &&
                         std::all_of(account.deficit_s.begin(), account.deficit_s.end(), is_zero) &&
                         std::all_of(account.shares.begin(), account.shares.end(), is_zero);
}

void RoundAccounts::save(ByteWriter& out) const {
  save_list(out, time_s_);
  out.varint(accounts_.size());
  for (const auto& [key, account] : accounts_) {
    if (account.is_untouched) {
      save_untouched(key, account.need, !account.shares.empty(), out);
      continue;
    }
    out.u32(key.job.value);
    out.u32(key.other.value);
    out.f64(account.need);
    out.boolean(false);
    save_list(out, account.time_s);
    save_list(out, account.deficit_s);
    save_list(out, account.shares);
  }
  save_list(out, devices_);
  out.i64(last_reset_.ns);
  out.boolean(changed_);
  out.boolean(unsettled_);
}

void RoundAccounts::load(ByteReader& in) {
  accounts_.clear();
  time_s_ = load_list(in);
  for (std::uint64_t left = in.varint(); left > 0 && in.ok(); --left) {
    const JobId job{in.u32()};
    const RoundKey key{job, JobId{in.u32()}};
    Account& account = accounts_.emplace_back(key, Account{}).second;
    account.need = in.f64();
    account.is_untouched = in.boolean();
    if (account.is_untouched) {
      account.time_s.assign(time_s_.size(), half_round_s());
      account.deficit_s.assign(time_s_.size(), 0);
      if (in.boolean()) account.shares.assign(time_s_.size(), 0);
      continue;
    }
    account.time_s = load_list(in);
    account.deficit_s = load_list(in);
    account.shares = load_list(in);
  }
  devices_ = load_list(in);
  last_reset_.ns = in.i64();
  changed_ = in.boolean();
  unsettled_ = in.boolean();
}

}  // namespace orrery::policies
