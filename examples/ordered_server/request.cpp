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

} // namespace

account* ledger::find(std::string_view key, bool may_add) {
    const auto found = accounts_.find(key);
    if (found != accounts_.end()) return found->second.get();
    if (!may_add || accounts_.size() >= most_) return nullptr;
    auto fresh = std::make_unique<account>(key, accounts_.size());
    const std::string_view name = fresh->key;
    return accounts_.emplace(name, std::move(fresh)).first->second.get();
}

void request::run() noexcept {
    if (what == verb::reset) {
        of->number = of->total = 0;
    } else if (what != verb::get) {
        const std::int64_t more = what == verb::work ? draw(n) : n;
        std::int64_t sum = 0;
        is_overflow = __builtin_add_overflow(of->total, more, &sum);
        if (!is_overflow) {
            of->total = sum;
            ++of->number;
        }
    }
    number = of->number;
    total = of->total;
}

void request::encode(std::string& to) const {
    if (of == nullptr) {
        to += text;
    } else if (is_overflow) {
        encoding::error(to, "the total would overflow");
    } else if (what == verb::reset) {
        encoding::simple(to, "OK");
    } else {
        encoding::array(to, 2);
        encoding::integer(to, number);
        encoding::integer(to, total);
    }
}

} // namespace ordered
