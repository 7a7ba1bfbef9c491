#include <lab/experiments/fork-join/fork_join.hpp>
#include <lab/peers/rayon.hpp>

/// The work of `nested`, for the loops in Rust.
extern "C" std::uint64_t lab_turn(std::uint64_t turns, std::uint64_t seed) { return lab::turn(turns, seed); }

namespace lab::fork_join {
namespace {

struct rayon_recursions : peers::rayon {
    using rayon::rayon;
    std::int64_t compute(fib, std::int64_t n) { return lab_rayon_fib(pool_, n); }
    std::int64_t compute(lopsided, std::int64_t height) { return lab_rayon_lopsided(pool_, height); }
    std::int64_t compute(queens, std::int64_t n) { return lab_rayon_queens(pool_, n); }
    std::int64_t compute(skynet, std::int64_t size) { return lab_rayon_skynet(pool_, size); }
    std::int64_t compute(matmul, std::int64_t n) { return lab_rayon_matmul(pool_, n); }
    std::int64_t compute(nested, std::int64_t turns) { return lab_rayon_nested(pool_, turns); }
};

struct rust_recursions : peers::rust_serial {
    using rust_serial::rust_serial;
    std::int64_t compute(fib, std::int64_t n) { return lab_rust_fib(n); }
    std::int64_t compute(lopsided, std::int64_t height) { return lab_rust_lopsided(height); }
    std::int64_t compute(queens, std::int64_t n) { return lab_rust_queens(n); }
    std::int64_t compute(skynet, std::int64_t size) { return lab_rust_skynet(size); }
    std::int64_t compute(matmul, std::int64_t n) { return lab_rust_matmul(n); }
    std::int64_t compute(nested, std::int64_t turns) { return lab_rust_nested(turns); }
};

const bool added =
    peers::add_row<rayon_recursions>("fork-join", &run<rayon_recursions>, "join; the workload is in Rust");

const bool serial_added =
    peers::add_row<rust_recursions>("fork-join", &run<rust_recursions>, "one thread, no forks", false);

} // namespace
} // namespace lab::fork_join
