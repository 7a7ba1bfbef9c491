// The count of outstanding work: threads count in places of their own until join() adds the places up.
#include <check/engine/model.hpp>
#include <ekiden/pool/detail/work_count.hpp>
#include <ekiden/sync/wait_limit.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

#include <optional>

namespace work_count_models {

using namespace ekiden;

EKIDEN_MODEL(work_count_gathered_at_the_end, .about = "work ends while its place is closed",
             .preemptions = 3) {
    sys::cell<int> written{0};
    work_count count;
    count.started();
    sys::thread elsewhere([&] {
        written.write(1);
        count.finished();
    });
    count.gather();
    check::that(count.wait(wait_limit()), "there is no limit");
    check::that(written.read() == 1, "what the work has done is visible");
    check::that(count.try_end(), "no work is left");
    elsewhere.join();
}

EKIDEN_MODEL(work_count_gathered_at_the_start,
             .about = "a piece of work begins another one, which it awaits not", .preemptions = 3,
             .spurious = 0) {
    sys::cell<int> first{0};
    sys::cell<int> second{0};
    work_count count;
    count.started();
    std::optional<sys::thread> inner;
    sys::thread outer([&] {
        count.started();
        inner.emplace([&] {
            second.write(1);
            count.finished();
        });
        first.write(1);
        count.finished();
    });
    count.gather();
    check::that(count.wait(wait_limit()), "there is no limit");
    check::that(first.read() == 1 && second.read() == 1, "both have ended");
    outer.join();
    inner->join();
}

EKIDEN_MODEL(work_count_gathered_by_two, .about = "two threads gather at once: both see the whole count",
             .preemptions = 3, .spurious = 0) {
    work_count count;
    count.started();
    sys::thread other([&] {
        count.gather();
        check::that(count.started_beside_other(), "the work has not ended");
        count.finished();
    });
    count.gather();
    check::that(count.started_beside_other(), "the work has not ended");
    count.finished();
    other.join();
    count.finished();
    check::that(!count.started_beside_other(), "no work is left");
}

} // namespace work_count_models
