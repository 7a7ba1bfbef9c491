/// Peer: oneTBB's fork-join and parallel algorithms. The arena has as many threads as there are workers,
/// including the caller.
#pragma once

#include <lab/peers/row.hpp>

#include <cstddef>
#include <functional>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>
#include <utility>
#include <vector>

namespace lab::peers {

class onetbb_parallel {
public:
    static constexpr peers::row row{"onetbb", "oneTBB", 30};

    explicit onetbb_parallel(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {}

    struct place {};
    template <class F>
    auto root(F f) {
        return arena_.execute([&f] {
            place here;
            return f(here);
        });
    }
    template <class F, class G>
    static auto both(place& here, F f, G g) {
        std::pair<decltype(f(here)), decltype(g(here))> results{};
        tbb::parallel_invoke(
            [&] {
                place there;
                results.first = f(there);
            },
            [&] {
                place there;
                results.second = g(there);
            });
        return results;
    }

    template <class Body>
    void loop(std::size_t n, Body body) {
        arena_.execute([&] { tbb::parallel_for(std::size_t{0}, n, body); });
    }
    template <class Body>
    void nested(std::size_t outer, std::size_t inner, const Body& body) {
        arena_.execute([&] {
            tbb::parallel_for(std::size_t{0}, outer, [&](std::size_t i) {
                tbb::parallel_for(std::size_t{0}, inner, [&, i](std::size_t k) { body(i, k); });
            });
        });
    }
    template <class Map>
    double sum(std::size_t n, Map map) {
        return arena_.execute([&] {
            return tbb::parallel_reduce(
                tbb::blocked_range<std::size_t>(0, n), 0.0,
                [&map](const tbb::blocked_range<std::size_t>& part, double value) {
                    for (std::size_t i = part.begin(); i != part.end(); ++i) value += map(i);
                    return value;
                },
                std::plus<>());
        });
    }
    void sort(std::vector<unsigned>& values) {
        arena_.execute([&] { tbb::parallel_sort(values.begin(), values.end()); });
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

} // namespace lab::peers
