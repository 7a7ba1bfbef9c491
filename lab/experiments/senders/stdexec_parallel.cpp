// The backend of the parallel scheduler, which stdexec compiles into a library of its own.
#define STDEXEC_PARALLEL_SCHEDULER_INLINE
#include <lab/experiments/senders/senders.hpp>
#include <lab/peers/row.hpp>

#include <stdexec/__detail/__parallel_scheduler_default_impl_entry.hpp>
#include <string>
#include <thread>

namespace lab::senders {
namespace {

class stdexec_parallel {
public:
    static constexpr peers::row row{"stdexec-parallel", "stdexec, parallel scheduler", 21};

    explicit stdexec_parallel(const cell& c) {
        if (const unsigned threads = std::thread::hardware_concurrency(); threads != c.workers())
            c.not_applicable("always has " + std::to_string(threads) + " threads");
    }
    [[nodiscard]] static auto scheduler() { return stdexec::get_parallel_scheduler(); }
};

const bool added = peers::add_row<stdexec_parallel>("senders", &run<stdexec_parallel>);

} // namespace
} // namespace lab::senders
