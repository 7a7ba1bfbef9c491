#include <lab/experiments/bursts/bursts.hpp>
#include <lab/peers/row.hpp>

#include <cstddef>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace lab::bursts {
namespace {

class onetbb_bursts {
public:
    static constexpr peers::row row{"onetbb", "oneTBB task_group", 30};

    explicit onetbb_bursts(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {}

    template <class Body>
    void enter(const Body& body) {
        arena_.execute(body);
    }
    template <class Block>
    void burst(std::size_t blocks, const Block& block) {
        tbb::task_group group;
        for (std::size_t i = 1; i != blocks; ++i) group.run([&block, i] { block(i); });
        block(0);
        group.wait();
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

const bool added = peers::add_row<onetbb_bursts>(
    "bursts", &run<onetbb_bursts>,
    "the caller is one of the threads, and runs tasks while it waits; idle threads spin for a time", true,
    "spins");

} // namespace
} // namespace lab::bursts
