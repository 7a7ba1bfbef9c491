#include <lab/experiments/bursts/bursts.hpp>
#include <lab/peers/openmp.hpp>

#include <cstddef>

namespace lab::bursts {
namespace {

struct openmp_bursts : peers::openmp {
    using openmp::openmp;

    template <class Block>
    void burst(std::size_t blocks, const Block& block) {
        for (std::size_t i = 1; i != blocks; ++i) post([&block, i] { block(i); });
        block(0);
        help();
    }
};

const bool added = peers::add_openmp<openmp_bursts>(
    "bursts", &run<openmp_bursts>,
    "the caller is one of the threads, and runs tasks while it waits; idle threads spin", true, "spins");

} // namespace
} // namespace lab::bursts
