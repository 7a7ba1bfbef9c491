/// Not a peer: the serial function that parallel versions are compared with.
#pragma once

#include <lab/peers/row.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace lab::peers {

class serial {
public:
    static constexpr peers::row row{"serial", "serial function", 90};

    explicit serial(unsigned) {}

    struct place {};
    template <class F>
    auto root(F f) {
        place here;
        return f(here);
    }
    template <class F, class G>
    static auto both(place& here, F f, G g) {
        auto first = f(here);
        return std::pair(first, g(here));
    }

    template <class Body>
    void loop(std::size_t n, Body body) {
        for (std::size_t i = 0; i != n; ++i) body(i);
    }
    template <class Body>
    void nested(std::size_t outer, std::size_t inner, const Body& body) {
        for (std::size_t i = 0; i != outer; ++i)
            for (std::size_t k = 0; k != inner; ++k) body(i, k);
    }
    template <class Map>
    double sum(std::size_t n, Map map) {
        double result = 0;
        for (std::size_t i = 0; i != n; ++i) result += map(i);
        return result;
    }
    void sort(std::vector<unsigned>& values) { std::sort(values.begin(), values.end()); }
};

} // namespace lab::peers
