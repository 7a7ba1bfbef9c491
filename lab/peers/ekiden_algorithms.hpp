/// ekiden's scans, searches, stable sort and groups, as its users use them.
#pragma once

#include <lab/peers/row.hpp>

#include <cstddef>
#include <cstdint>
#include <ekiden/fork/combinable.hpp>
#include <ekiden/fork/parallel_find.hpp>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/parallel_scan.hpp>
#include <ekiden/fork/parallel_stable_sort.hpp>
#include <ekiden/fork/task_group.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <functional>
#include <utility>
#include <vector>

namespace lab::peers {

/// Everything runs in the workers, so that the number of computing threads is the number of workers.
class ekiden_algorithms {
public:
    static constexpr peers::row row{"ekiden", "ekiden", 1};

    explicit ekiden_algorithms(unsigned workers) : pool_({.threads = workers}) {}

private:
    template <class F>
    auto inside(F f) {
        return pool_.submit(std::move(f)).get();
    }

public:
    template <class T, class Operation>
    void scan(const std::vector<T>& input, std::vector<T>& output, Operation operation) {
        inside([&] { ::ekiden::parallel_inclusive_scan(input, output.begin(), operation); });
    }
    std::size_t find(const std::vector<std::uint32_t>& values, std::uint32_t wanted) {
        return inside([&] {
            return static_cast<std::size_t>(::ekiden::parallel_find(values, wanted) - values.begin());
        });
    }
    template <class Record>
    void stable_sort(std::vector<Record>& values) {
        inside([&] {
            ::ekiden::parallel_stable_sort(values,
                                           [](const Record& a, const Record& b) { return a.key < b.key; });
        });
    }
    std::uint64_t local_sum(std::size_t n) {
        return inside([n] {
            ::ekiden::combinable<std::uint64_t> sums;
            ::ekiden::parallel_for(std::size_t{0}, n, [&sums](std::size_t i) { sums.local() += i; });
            return sums.combine(std::plus<>());
        });
    }
    template <class Body>
    void limited(std::size_t n, Body body) {
        inside([&] {
            ::ekiden::task_group group({.concurrency = 2});
            for (std::size_t i = 0; i != n; ++i) group.spawn([body, i] { body(i); });
            group.wait();
        });
    }

private:
    ::ekiden::thread_pool pool_;
};

} // namespace lab::peers
