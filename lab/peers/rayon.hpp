/// Peer: rayon, a work-stealing pool for Rust. Its workloads are written in Rust: peers/rayon/src/lib.rs.
///
/// Used by: fork-join, parallel-for.
#pragma once

#include <lab/peers/row.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" {
void* lab_rayon_start(std::size_t workers);
void lab_rayon_end(void* pool);
std::int64_t lab_rayon_fib(void* pool, std::int64_t n);
std::int64_t lab_rayon_lopsided(void* pool, std::int64_t height);
std::int64_t lab_rayon_queens(void* pool, std::int64_t n);
std::int64_t lab_rayon_skynet(void* pool, std::int64_t size);
std::int64_t lab_rayon_matmul(void* pool, std::int64_t n);
std::int64_t lab_rayon_nested(void* pool, std::int64_t turns);
void lab_rayon_light(void* pool, float* at, std::size_t n);
void lab_rayon_skewed(void* pool, float* at, std::size_t n);
double lab_rayon_harmonic(void* pool, std::size_t n);
void lab_rayon_sort(void* pool, unsigned* at, std::size_t n);
std::int64_t lab_rust_fib(std::int64_t n);
std::int64_t lab_rust_lopsided(std::int64_t height);
std::int64_t lab_rust_queens(std::int64_t n);
std::int64_t lab_rust_skynet(std::int64_t size);
std::int64_t lab_rust_matmul(std::int64_t n);
std::int64_t lab_rust_nested(std::int64_t turns);
void lab_rust_light(float* at, std::size_t n);
void lab_rust_skewed(float* at, std::size_t n);
double lab_rust_harmonic(std::size_t n);
void lab_rust_sort(unsigned* at, std::size_t n);
}

namespace lab::peers {

class rayon {
public:
    static constexpr peers::row row{"rayon", "rayon (Rust)", 31};

    explicit rayon(unsigned workers) : pool_(lab_rayon_start(workers)) {}
    ~rayon() { lab_rayon_end(pool_); }
    rayon(const rayon&) = delete;
    rayon& operator=(const rayon&) = delete;

    void light(float* at, std::size_t n) { lab_rayon_light(pool_, at, n); }
    void skewed(float* at, std::size_t n) { lab_rayon_skewed(pool_, at, n); }
    double harmonic(std::size_t n) { return lab_rayon_harmonic(pool_, n); }
    void sort(std::vector<unsigned>& values) { lab_rayon_sort(pool_, values.data(), values.size()); }

protected:
    void* pool_;
};

/// Not a peer: the same workloads in plain Rust, in one thread.
class rust_serial {
public:
    static constexpr peers::row row{"rust-serial", "serial, Rust", 91};

    explicit rust_serial(unsigned) {}

    void light(float* at, std::size_t n) { lab_rust_light(at, n); }
    void skewed(float* at, std::size_t n) { lab_rust_skewed(at, n); }
    double harmonic(std::size_t n) { return lab_rust_harmonic(n); }
    void sort(std::vector<unsigned>& values) { lab_rust_sort(values.data(), values.size()); }
};

} // namespace lab::peers
