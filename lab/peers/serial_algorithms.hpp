/// Not a peer: the algorithms of the standard library in one thread.
#pragma once

#include <lab/peers/row.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lab::peers {

class serial_algorithms {
public:
    static constexpr peers::row row{"serial", "serial function", 90};

    explicit serial_algorithms(unsigned) {}

    template <class T, class Operation>
    void scan(const std::vector<T>& input, std::vector<T>& output, Operation operation) {
        std::inclusive_scan(input.begin(), input.end(), output.begin(), operation);
    }
    std::size_t find(const std::vector<std::uint32_t>& values, std::uint32_t wanted) {
        return static_cast<std::size_t>(std::find(values.begin(), values.end(), wanted) - values.begin());
    }
    template <class Record>
    void stable_sort(std::vector<Record>& values) {
        std::stable_sort(values.begin(), values.end(),
                         [](const Record& a, const Record& b) { return a.key < b.key; });
    }
    template <class Body>
    void limited(std::size_t n, Body body) {
        for (std::size_t i = 0; i != n; ++i) body(i);
    }
};

} // namespace lab::peers
