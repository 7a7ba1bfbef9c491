#include "account_book.hpp"

#include <utility>

namespace ordered_client {

namespace {

constexpr std::int64_t most_numbers = 200'000'000; // of a key: a reply beyond this is wrong

std::string name(unsigned key) { return "key " + std::to_string(key) + ": "; }

} // namespace

void account_book::enter(unsigned key, std::int64_t number, std::int64_t amount, std::int64_t total) {
    if (number < 1 || number > most_numbers)
        return violation(name(key) + "the running number " + std::to_string(number) + " cannot be");
    std::vector<entry>& entries = keys_[key].entries;
    if (static_cast<std::int64_t>(entries.size()) < number) entries.resize(static_cast<std::size_t>(number));
    entry& e = entries[static_cast<std::size_t>(number) - 1];
    if (e.is_known) violation(name(key) + "two requests have the running number " + std::to_string(number));
    e = {amount, total, true};
}

void account_book::close(unsigned key, std::int64_t number, std::int64_t total) {
    page& p = keys_[key];
    if (number < static_cast<std::int64_t>(p.entries.size()) || number > most_numbers)
        return violation(name(key) + "GET says " + std::to_string(number) + ", but there were "
                         + std::to_string(p.entries.size()));
    p.entries.resize(static_cast<std::size_t>(number));
    std::int64_t sum = 0;
    std::uint64_t gaps = 0;
    for (std::size_t i = 0; i != p.entries.size(); ++i) {
        const entry& e = p.entries[i];
        gaps += e.is_known ? 0 : 1;
        sum += e.is_known ? e.amount : lost_amount;
        if (e.is_known && e.total != sum) {
            violation(name(key) + "number " + std::to_string(i + 1) + " has the total "
                      + std::to_string(e.total) + " instead of " + std::to_string(sum));
            sum = e.total;
        }
    }
    if (sum != total)
        violation(name(key) + "GET says " + std::to_string(total) + " instead of " + std::to_string(sum));
    if (gaps > p.lost)
        violation(name(key) + std::to_string(gaps) + " numbers were given to nobody, but only "
                  + std::to_string(p.lost) + " requests were lost");
}

void account_book::close_without_gaps() {
    for (unsigned key = 0; key != keys_.size(); ++key) {
        const std::vector<entry>& entries = keys_[key].entries;
        if (!entries.empty()) close(key, static_cast<std::int64_t>(entries.size()), entries.back().total);
    }
}

void account_book::violation(std::string what) {
    ++violations_;
    if (first_.size() < 10) first_.push_back(std::move(what));
}

} // namespace ordered_client
