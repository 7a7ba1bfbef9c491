/// The checking client's knowledge of each key, and whether it is consistent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ordered_client {

/// The amount of each request that may get lost.
inline constexpr std::int64_t lost_amount = 7;

class account_book {
public:
    explicit account_book(unsigned keys) : keys_(keys) {}

    /// Records a reply: request number `number` of this key, which added `amount`, set the total to `total`.
    void enter(unsigned key, std::int64_t number, std::int64_t amount, std::int64_t total);
    /// Records a request that may or may not have been run. It would have added lost_amount.
    void lose(unsigned key) { ++keys_[key].lost; }

    /// Checks a key against the final reply of GET.
    void close(unsigned key, std::int64_t number, std::int64_t total);
    /// Checks all keys without GET: every request with a number must have been answered.
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
        std::vector<entry> entries; // request number i is at index i - 1
        std::uint64_t lost = 0;
    };

    std::vector<page> keys_;
    std::uint64_t violations_ = 0;
    std::vector<std::string> first_;
};

} // namespace ordered_client
