#include <lab/experiments/request-order/methods.hpp>
#include <lab/peers/ordered_locks.hpp>
#include <lab/peers/system_locks.hpp>

namespace lab::request_order {
namespace {

struct by_ticket : by_lock<peers::ticket_lock, true> {
    static constexpr std::size_t most_requests = 10'000;
};

const bool added_chain = add_method<by_lock<peers::chained_events, true>>(
    {"orderlock", "orderlock", 10}, "chain of events; each thread does its own work");
const bool added_mutex = add_method<by_lock<peers::std_mutex, true>>({"std-mutex", "std::mutex", 16},
                                                                     "promises no order", true, "unordered");
const bool added_mcs = add_method<by_lock<peers::mcs_lock, true>>({"mcs", "MCS lock with futex", 17}, "");
const bool added_ticket = add_method<by_ticket>({"ticket", "ticket lock, yielding", 18}, "");
const bool added_q_chain = add_method<by_lock<peers::chained_events, false>>(
    {"q_orderlock", "q_orderlock", 30}, "takes numbers, processes nothing", false);

} // namespace
} // namespace lab::request_order
