/// Experiment several-keys: requests with one or two keys, and requests that only read a key.
///
/// A system under test is a class S with
///
///     S(unsigned workers, std::size_t keys)
///     void enter(Body body)                       calls body() in a task, and returns after all requests
///     void one(std::uint32_t key, F f)            the following functions are called inside body()
///     void two(std::uint32_t a, std::uint32_t b, F f)
///     void read(std::uint32_t key, F f)
///     static constexpr bool keeps_order           false: it only prevents that requests overlap
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/tally.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace lab::several_keys {

/// The accounts, and what the requests do with them.
class bank {
public:
    bank(std::size_t accounts, std::size_t requests, bool has_two) : balances_(accounts) {
        std::mt19937_64 random(1);
        std::vector<double> up_to; // for each account, the sum of the weights up to it
        double sum = 0;
        for (std::size_t rank = 1; rank <= accounts; ++rank)
            up_to.push_back(sum += 1 / static_cast<double>(rank));
        const auto draw = [&] {
            const double at = std::uniform_real_distribution<double>(0, sum)(random);
            return static_cast<std::uint32_t>(std::upper_bound(up_to.begin(), up_to.end() - 1, at)
                                              - up_to.begin());
        };
        for (std::size_t n = 0; n != requests; ++n) {
            const std::uint32_t from = draw();
            std::uint32_t to = draw();
            while (to == from) to = draw();
            transfers_.push_back({from, has_two ? to : from});
        }
        clear();
        for (std::size_t n = 0; n != requests; ++n) run(n);
        expected_ = balances_;
    }

    struct transfer {
        std::uint32_t from;
        std::uint32_t to;
    };
    [[nodiscard]] const std::vector<transfer>& transfers() const noexcept { return transfers_; }

    void run(std::size_t number) noexcept {
        const transfer& t = transfers_[number];
        const std::int64_t moved = balances_[t.from] / 7 + static_cast<std::int64_t>(number % 3);
        balances_[t.from] -= moved;
        balances_[t.to] += moved + (t.from == t.to ? 1 : 0);
    }

    void clear() { std::fill(balances_.begin(), balances_.end(), 1000); }

    /// Fails the cell if the balances are wrong.
    void check(const cell& c, bool keeps_order) const {
        const auto sum = [](const auto& all) {
            return std::accumulate(all.begin(), all.end(), std::int64_t{0});
        };
        if (keeps_order && balances_ != expected_) c.fail("requests ran out of the order of their posts");
        if (sum(balances_) != sum(expected_)) c.fail("requests of one key overlapped, or were lost");
    }

private:
    std::vector<transfer> transfers_;
    std::vector<std::int64_t> balances_;
    std::vector<std::int64_t> expected_;
};

template <class System>
void run_transfers(cell& c) {
    constexpr std::size_t accounts = 10'000;
    const bool has_two = c.asked().variant.starts_with("two");
    const bool works = c.asked().variant.ends_with("1 us");
    const std::size_t requests = c.pick(20'000, 200'000, 1'000'000);
    const auto turns = static_cast<std::uint64_t>(works ? c.asked().turns_per_us : 0);
    bank all(accounts, requests, has_two);
    System system(c.workers(), accounts);
    for (unsigned r = 0; c.again(r); ++r) {
        all.clear();
        repetition found;
        found.used = c.measure([&] {
            system.enter([&] {
                for (std::size_t n = 0; n != requests; ++n) {
                    const auto request = [&all, n, turns] {
                        turn(turns, n);
                        all.run(n);
                    };
                    const auto [from, to] = all.transfers()[n];
                    if (has_two)
                        system.two(from, to, request);
                    else
                        system.one(from, request);
                }
            });
        });
        all.check(c, System::keeps_order);
        found.figures = {{"ns_per_request", found.used.wall_s * 1e9 / static_cast<double>(requests)},
                         {"cpu_ns", found.used.cpu_s() * 1e9 / static_cast<double>(requests)}};
        c.report(found);
    }
}

/// Returns the time that the requests need with this number of workers.
template <class System>
usage run_readers(cell& c, unsigned workers) {
    const std::size_t requests = c.pick(200, 5'000, 20'000);
    const auto turns = static_cast<std::uint64_t>(10 * c.asked().turns_per_us);
    System system(workers, 1);
    const std::uint64_t expected = tally::instance().count() + requests;
    const usage used = c.measure([&] {
        system.enter([&] {
            for (std::size_t n = 0; n != requests; ++n) {
                system.read(0, [n, turns] {
                    turn(turns, n);
                    tally::instance().hit();
                });
            }
        });
    });
    tally::instance().check(c, expected);
    return used;
}

template <class System>
void run(cell& c) {
    if (c.asked().variant != "readers") return run_transfers<System>(c);
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        const usage alone = run_readers<System>(c, 1);
        found.used = run_readers<System>(c, c.workers());
        found.figures = {{"speedup", alone.wall_s / found.used.wall_s}};
        c.report(found);
    }
}

} // namespace lab::several_keys
