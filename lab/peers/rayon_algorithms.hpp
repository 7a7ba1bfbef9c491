/// Peer: rayon's searches, stable sort and scopes. The workloads are written in Rust: peers/rayon/src/lib.rs.
///
/// Used by: algorithms.
#pragma once

#include <lab/peers/rayon.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" {
std::size_t lab_rayon_find(void* pool, const std::uint32_t* at, std::size_t n, std::uint32_t wanted);
void lab_rayon_stable_sort(void* pool, void* records, std::size_t n);
}

namespace lab::peers {

class rayon_algorithms : public rayon {
public:
    using rayon::rayon;

    std::size_t find(const std::vector<std::uint32_t>& values, std::uint32_t wanted) {
        return lab_rayon_find(pool_, values.data(), values.size(), wanted);
    }
    template <class Record>
    void stable_sort(std::vector<Record>& values) {
        static_assert(sizeof(Record) == 8, "the same structure is in lib.rs");
        lab_rayon_stable_sort(pool_, values.data(), values.size());
    }
};

} // namespace lab::peers
