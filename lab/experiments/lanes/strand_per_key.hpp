/// A strand for each key, on the pool of the same library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lab::lanes {

template <class Library>
class strand_per_key {
public:
    static constexpr auto row = Library::row;
    static constexpr bool keeps_order = true;

    strand_per_key(unsigned workers, std::size_t keys) : pool_(workers) {
        strands_.reserve(keys);
        for (std::size_t i = 0; i < keys; ++i) strands_.push_back(Library::strand_of(pool_));
    }

    ~strand_per_key() { Library::join(pool_); }

    template <class F>
    void post(std::uint64_t key, F f) {
        Library::post(strands_[key], std::move(f));
    }

private:
    typename Library::pool pool_;
    std::vector<typename Library::pool_strand> strands_;
};

} // namespace lab::lanes
