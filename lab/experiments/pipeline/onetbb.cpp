#include <lab/experiments/pipeline/pipeline.hpp>
#include <lab/peers/row.hpp>

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

namespace lab::pipeline {
namespace {

class onetbb_pipeline {
public:
    static constexpr peers::row row{"onetbb", "oneTBB", 30};

    explicit onetbb_pipeline(unsigned workers)
        : limit_(tbb::global_control::max_allowed_parallelism, workers), arena_(static_cast<int>(workers)) {}

    template <bool IsOrdered>
    void pass(const work& todo, received& sink) {
        constexpr auto order =
            IsOrdered ? tbb::filter_mode::serial_in_order : tbb::filter_mode::serial_out_of_order;
        std::size_t next = 0;
        arena_.execute([&] {
            tbb::parallel_pipeline(
                todo.in_flight,
                tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order,
                                                      [&](tbb::flow_control& control) -> std::uint64_t {
                                                          if (next == todo.items) {
                                                              control.stop();
                                                              return 0;
                                                          }
                                                          return todo.make(next++);
                                                      })
                    & tbb::make_filter<std::uint64_t, std::uint64_t>(
                        tbb::filter_mode::parallel, [&](std::uint64_t item) { return todo.change(item); })
                    & tbb::make_filter<std::uint64_t, void>(
                        order, [&](std::uint64_t item) { sink.add(todo, item); }));
        });
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

const bool added = peers::add_row<onetbb_pipeline>("pipeline", &run<onetbb_pipeline>, "parallel_pipeline");

} // namespace
} // namespace lab::pipeline
