#include <lab/experiments/pipeline/pipeline.hpp>
#include <lab/peers/row.hpp>

#include <ekiden/flow/pipeline.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <optional>
#include <utility>

namespace lab::pipeline {
namespace {

class ekiden_pipeline {
public:
    static constexpr peers::row row{"ekiden", "ekiden", 1};

    explicit ekiden_pipeline(unsigned workers) : pool_({.threads = workers}) {}

    template <bool IsOrdered>
    void pass(const work& todo, received& sink) {
        std::size_t next = 0;
        auto line =
            ekiden::pipeline(ekiden::in_order_stage([&]() -> std::optional<std::uint64_t> {
                                 if (next == todo.items) return std::nullopt;
                                 return todo.make(next++);
                             }),
                             ekiden::parallel_stage([&](std::uint64_t item) { return todo.change(item); }),
                             last<IsOrdered>([&](std::uint64_t item) { sink.add(todo, item); }));
        // In oneTBB, the caller counts as one of the threads. So the caller is a worker here.
        (void)pool_.submit([&] { return line.run(pool_, {.in_flight = todo.in_flight}); }).get();
    }

private:
    template <bool IsOrdered, class F>
    static auto last(F f) {
        if constexpr (IsOrdered)
            return ekiden::in_order_stage(std::move(f));
        else
            return ekiden::any_order_stage(std::move(f));
    }

    ekiden::thread_pool pool_;
};

const bool added = peers::add_row<ekiden_pipeline>("pipeline", &run<ekiden_pipeline>);

} // namespace
} // namespace lab::pipeline
