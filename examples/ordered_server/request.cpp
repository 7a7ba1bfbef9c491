#include <ordered_server/encoding.hpp>
#include <ordered_server/request.hpp>

#include <random>

namespace ordered {

namespace {

/// Returns the sum of the first `n` draws of a generator with its default seed.
std::int64_t draw(std::int64_t n) {
    std::mt19937 draws;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::int64_t{static_cast<std::uint32_t>(draws())};
    return sum;
}

constexpr const char* overflow = "the total would overflow";

void pair(std::string& to, std::int64_t number, std::int64_t total) {
    encoding::array(to, 2);
    encoding::integer(to, number);
    encoding::integer(to, total);
}

} // namespace

account* ledger::find(std::string_view key, bool may_add) {
    const auto found = accounts_.find(key);
    if (found != accounts_.end()) return found->second.get();
    if (!may_add || accounts_.size() >= most_) return nullptr;
    auto fresh = std::make_unique<account>(key, accounts_.size());
    const std::string_view name = fresh->key;
    return accounts_.emplace(name, std::move(fresh)).first->second.get();
}

bool ledger::has_room_for(std::span<const key_and_total> keys) {
    std::size_t unknown = 0;
    for (const key_and_total& k : keys) unknown += find(k.key, false) == nullptr ? 1U : 0U;
    return unknown <= most_ - accounts_.size();
}

void request::run() noexcept {
    if (has_several_keys(what)) return run_several();
    if (what == verb::reset) {
        of->number = of->total = 0;
    } else if (what != verb::get) {
        const std::int64_t more = what == verb::add ? n : what == verb::work ? draw(n) : 0;
        std::int64_t sum = 0;
        if (__builtin_add_overflow(of->total, more, &sum)) {
            failure = overflow;
        } else {
            of->total = sum;
            ++of->number;
        }
    }
    number = of->number;
    total = of->total;
}

void request::run_several() noexcept {
    if (what == verb::transfer) {
        account& from = *several[0].of;
        account& to = *several[1].of;
        std::int64_t less = 0;
        std::int64_t more = 0;
        if (__builtin_sub_overflow(from.total, n, &less) || __builtin_add_overflow(to.total, n, &more)) {
            failure = overflow;
            return;
        }
        from.total = less;
        to.total = more;
        ++from.number;
        ++to.number;
    } else if (what == verb::mset) {
        for (const part& p : several) {
            p.of->total = p.total;
            ++p.of->number;
        }
    } else {
        for (part& p : several) {
            if (p.of == nullptr) continue;
            p.total = p.of->total;
            p.number = p.of->number;
        }
    }
}

void request::encode(std::string& to) const {
    if (of == nullptr && several.empty()) {
        to += text;
    } else if (failure != nullptr) {
        encoding::error(to, failure);
    } else if (what == verb::reset || what == verb::mset || what == verb::transfer) {
        encoding::simple(to, "OK");
    } else if (what == verb::mget) {
        encoding::array(to, several.size());
        for (const part& p : several) p.of != nullptr ? pair(to, p.number, p.total) : encoding::null(to);
    } else {
        pair(to, number, total);
    }
}

} // namespace ordered
