/// The keys to which the producers of experiment lanes post. They are drawn before the measurement.
///
/// They are uniform, or follow Zipf's law with exponent 0.99, as in YCSB. The rank of a key is independent of
/// its number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace lab::lanes {

/// One task to post: its key, and how many tasks this producer has posted to that key before.
struct order {
    std::uint32_t key;
    std::uint32_t turn;
};

class key_source {
public:
    key_source(std::size_t keys, bool zipf, unsigned seed) : keys_(keys), random_(seed) {
        if (!zipf) return;
        double sum = 0;
        for (std::size_t rank = 1; rank <= keys; ++rank)
            up_to_.push_back(sum += 1 / std::pow(static_cast<double>(rank), 0.99));
    }

    std::uint32_t draw() {
        if (up_to_.empty()) return static_cast<std::uint32_t>(random_() % keys_);
        const double at = std::uniform_real_distribution<double>(0, up_to_.back())(random_);
        const auto rank = static_cast<std::uint64_t>(std::upper_bound(up_to_.begin(), up_to_.end() - 1, at)
                                                     - up_to_.begin());
        // A prime number, so every key has a rank.
        return static_cast<std::uint32_t>(rank * 2'654'435'761 % keys_);
    }

private:
    std::size_t keys_;
    std::mt19937_64 random_;
    std::vector<double> up_to_; // for each rank, the sum of the weights up to it
};

/// Returns `tasks` orders, in one list for each producer. The result is always the same.
inline std::vector<std::vector<order>> make_orders(std::size_t keys, bool zipf, unsigned producers,
                                                   std::size_t tasks) {
    std::vector<std::vector<order>> all(producers);
    key_source source(keys, zipf, 1);
    std::vector<std::uint32_t> turns(keys);
    for (std::vector<order>& list : all) {
        std::fill(turns.begin(), turns.end(), 0);
        list.reserve(tasks / producers);
        for (std::size_t i = 0; i < tasks / producers; ++i) {
            const std::uint32_t key = source.draw();
            list.push_back({key, turns[key]++});
        }
    }
    return all;
}

} // namespace lab::lanes
