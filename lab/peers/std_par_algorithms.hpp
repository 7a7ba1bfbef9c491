/// Peer: the algorithms of the standard library with std::execution::par. The implementation of libstdc++
/// runs on oneTBB. The arena has as many threads as there are workers, including the caller.
#pragma once

#include <lab/peers/row.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <execution>
#include <numeric>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <vector>

namespace lab::peers {

class std_par_algorithms {
public:
    static constexpr peers::row row{"std-par", "std::execution::par", 32};

    explicit std_par_algorithms(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {}

    template <class T, class Operation>
    void scan(const std::vector<T>& input, std::vector<T>& output, Operation operation) {
        arena_.execute([&] {
            std::inclusive_scan(std::execution::par, input.begin(), input.end(), output.begin(), operation);
        });
    }
    std::size_t find(const std::vector<std::uint32_t>& values, std::uint32_t wanted) {
        return arena_.execute([&] {
            const auto at = std::find(std::execution::par, values.begin(), values.end(), wanted);
            return static_cast<std::size_t>(at - values.begin());
        });
    }
    template <class Record>
    void stable_sort(std::vector<Record>& values) {
        arena_.execute([&] {
            std::stable_sort(std::execution::par, values.begin(), values.end(),
                             [](const Record& a, const Record& b) { return a.key < b.key; });
        });
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

} // namespace lab::peers
