/// What the checking client knows of each key, and whether it can be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ordered_client {

/// Each of the requests that may get lost adds this.
inline constexpr std::int64_t lost_amount = 7;

class account_book {
public:
    explicit account_book(unsigned keys) : keys_(keys) {}

    /// A reply: request number `number` of this key, which added `amount`, left the total at `total`.
    void enter(unsigned key, std::int64_t number, std::int64_t amount, std::int64_t total);
    /// A request that may have been run, and may not. It would have added lost_amount.
    void lose(unsigned key) { ++keys_[key].lost; }

    /// What GET says of a key at the end.
    void close(unsigned key, std::int64_t number, std::int64_t total);
    /// The same without it: all that has a number was answered.
    void close_without_gaps();

    void violation(std::string what);
    [[nodiscard]] std::uint64_t violations() const { return violations_; }
    [[nodiscard]] const std::vector<std::string>& first() const { return first_; }

private:
    struct entry {
        std::int64_t amount = 0;
        std::int64_t total = 0;
        bool is_known = false;
    };
    struct page {
        std::vector<entry> entries; // the one of number i lies at i - 1
        std::uint64_t lost = 0;
    };

    std::vector<page> keys_;
    std::uint64_t violations_ = 0;
    std::vector<std::string> first_;
};

} // namespace ordered_client
