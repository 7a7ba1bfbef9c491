/// ekiden's fork-join and parallel algorithms, as its users use them.
#pragma once

#include <lab/peers/row.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/parallel_reduce.hpp>
#include <ekiden/fork/parallel_sort.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace lab::peers {

/// Everything runs in the workers, so that the number of computing threads is the number of workers.
class ekiden_parallel {
public:
    static constexpr peers::row row{"ekiden", "ekiden", 1};

    explicit ekiden_parallel(unsigned workers) : pool_({.threads = workers}) {}

private:
    template <class F>
    auto inside(F f) {
        return pool_.submit(std::move(f)).get();
    }

public:
    using place = ::ekiden::fork_scope;
    template <class F>
    auto root(F f) {
        return inside(
            [&f] { return std::get<0>(::ekiden::parallel_invoke([&f](place& here) { return f(here); })); });
    }
    template <class F, class G>
    static auto both(place& here, F f, G g) {
        return ::ekiden::parallel_invoke(here, std::move(f), std::move(g));
    }

    /// Returns the sum of `child(place, i)` for i in [0, 10).
    template <class Child>
    static std::int64_t each(place& here, const Child& child) {
        std::array<std::int64_t, 10> results;
        ::ekiden::parallel_for(here, 0, 10,
                               [&](place& p, int i) { results[static_cast<std::size_t>(i)] = child(p, i); });
        return std::accumulate(results.begin(), results.end(), std::int64_t{0});
    }

    template <class Body>
    void loop(std::size_t n, Body body) {
        inside([&] { return ::ekiden::parallel_for(std::size_t{0}, n, body); });
    }
    template <class Body>
    void nested(std::size_t outer, std::size_t inner, const Body& body) {
        inside([&] {
            ::ekiden::parallel_for(std::size_t{0}, outer, [&](std::size_t i) {
                ::ekiden::parallel_for(std::size_t{0}, inner, [&, i](std::size_t k) { body(i, k); });
            });
            return 0;
        });
    }
    template <class Map>
    double sum(std::size_t n, Map map) {
        return inside([&] { return ::ekiden::parallel_reduce(std::size_t{0}, n, 0.0, map, std::plus<>()); });
    }
    void sort(std::vector<unsigned>& values) {
        inside([&] { return ::ekiden::parallel_sort(values), 0; });
    }

private:
    ::ekiden::thread_pool pool_;
};

} // namespace lab::peers
