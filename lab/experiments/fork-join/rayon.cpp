#include <lab/experiments/fork-join/fork_join.hpp>
#include <lab/peers/rayon.hpp>

namespace lab::fork_join {
namespace {

struct rayon_recursions : peers::rayon {
    using rayon::rayon;
    std::int64_t compute(fib, std::int64_t n) { return lab_rayon_fib(pool_, n); }
    std::int64_t compute(lopsided, std::int64_t height) { return lab_rayon_lopsided(pool_, height); }
    std::int64_t compute(queens, std::int64_t n) { return lab_rayon_queens(pool_, n); }
};

const bool added =
    peers::add_row<rayon_recursions>("fork-join", &run<rayon_recursions>, "join; the workload is in Rust");

} // namespace
} // namespace lab::fork_join
