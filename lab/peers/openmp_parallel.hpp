/// Peer: OpenMP's tasks and loops. Compiled twice: by g++ for libgomp, by clang++ for libomp.
#pragma once

#include <lab/peers/openmp.hpp>

#include <cstddef>
#include <utility>

namespace lab::peers {

class openmp_parallel {
public:
    static constexpr peers::row row = openmp::row;

    explicit openmp_parallel(unsigned workers) : workers_(static_cast<int>(workers)) {}

    struct place {};
    template <class F>
    auto root(F f) {
        place here;
        decltype(f(here)) result{};
#pragma omp parallel num_threads(workers_)
#pragma omp single
        result = f(here);
        return result;
    }
    template <class F, class G>
    static auto both(place& here, F f, G g) {
        std::pair<decltype(f(here)), decltype(g(here))> results{};
#pragma omp task shared(results, here) firstprivate(f)
        results.first = f(here);
        results.second = g(here);
#pragma omp taskwait
        return results;
    }

    /// Writes the loop as a user would if the iterations may differ. The runtime's default would be one equal
    /// part for each thread.
    template <class Body>
    void loop(std::size_t n, Body body) {
#pragma omp parallel for num_threads(workers_) schedule(guided)
        for (std::size_t i = 0; i < n; ++i) body(i);
    }
    /// Loops of tasks, because an inner parallel region would run in one thread.
    template <class Body>
    void nested(std::size_t outer, std::size_t inner, const Body& body) {
#pragma omp parallel num_threads(workers_)
#pragma omp single
#pragma omp taskloop shared(body)
        for (std::size_t i = 0; i < outer; ++i) {
#pragma omp taskloop shared(body) firstprivate(i)
            for (std::size_t k = 0; k < inner; ++k) body(i, k);
        }
    }
    template <class Map>
    double sum(std::size_t n, Map map) {
        double result = 0;
#pragma omp parallel for num_threads(workers_) reduction(+ : result)
        for (std::size_t i = 0; i < n; ++i) result += map(i);
        return result;
    }

private:
    int workers_;
};

} // namespace lab::peers
