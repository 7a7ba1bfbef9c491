// The guide's example: see check/README.md.
#include <check/engine/model.hpp>
#include <ekiden/queue/chase_lev_deque.hpp>
#include <ekiden/sys/thread.hpp>

namespace one_item_models {
using namespace ekiden;

EKIDEN_MODEL(one_item, .about = "owner and thief want the same item", .preemptions = 3) {
    chase_lev_deque<int> deque(2);
    int item = 0;
    int taken = 0; // one real thread: a plain int counts what happened
    deque.push(&item);
    sys::thread thief([&] { taken += deque.steal() != nullptr; });
    taken += deque.pop() != nullptr;
    thief.join();
    check::that(taken == 1, "the item is taken once");
}

} // namespace one_item_models
