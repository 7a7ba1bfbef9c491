// The services of a context: made by two threads at once, found by others, shut down.
#include <check/engine/model.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/thread.hpp>

namespace services_models {

using namespace ekiden;

namespace {

struct bare_context : execution_context {
    using execution_context::shut_down_services;
    ~bare_context() override { end_services(); }
};

struct first_service : execution_context::service {
    explicit first_service(execution_context& owner) : service(owner) { made.write(1); }
    void shutdown() noexcept override { shut_down.write(shut_down.read() + made.read()); }
    sys::cell<int> made{0};
    sys::cell<int> shut_down{0};
};

struct second_service : execution_context::service {
    explicit second_service(execution_context& owner) : service(owner) { made.write(1); }
    sys::cell<int> made{0};
};

} // namespace

EKIDEN_MODEL(services_made_at_once, .about = "two threads make one service: both get the same, made whole",
             .preemptions = 3) {
    bare_context context;
    first_service* seen = nullptr;
    sys::thread other([&] { seen = &use_service<first_service>(context); });
    first_service& mine = use_service<first_service>(context);
    check::that(mine.made.read() == 1, "whoever has made it");
    other.join();
    check::that(seen == &mine, "the same");
}

EKIDEN_MODEL(services_made_beside_a_look,
             .about = "a thread that finds a service while others are made sees all of it",
             .preemptions = 3) {
    bare_context context;
    sys::thread other([&] {
        (void)use_service<first_service>(context);
        (void)use_service<second_service>(context);
    });
    if (has_service<first_service>(context))
        check::that(use_service<first_service>(context).made.read() == 1, "made whole");
    other.join();
}

EKIDEN_MODEL(services_made_beside_shutdown,
             .about = "a service that is made while the context shuts down is shut down once, and whole",
             .preemptions = 3) {
    bare_context context;
    sys::thread other([&] { (void)use_service<first_service>(context); });
    context.shut_down_services();
    other.join();
    context.shut_down_services();
    check::that(use_service<first_service>(context).shut_down.read() == 1, "once");
}

} // namespace services_models
