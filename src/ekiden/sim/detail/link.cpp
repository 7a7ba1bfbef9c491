#include <ekiden/sim/link.hpp>

#include <ekiden/sim/detail/simulation.hpp>

#include <algorithm>

namespace ekiden::inline EKIDEN_ABI::sim {

link::link(sim_context& here, sim_context& there, std::string name, std::chrono::nanoseconds latency)
    : here_(here), there_(there), name_(std::move(name)),
      latency_(std::max<std::int64_t>(latency.count(), 1)), forth_(here.world_.new_line()),
      back_(here.world_.new_line()), forth_again_(here.world_.new_line()),
      back_again_(here.world_.new_line()) {}

link::~link() { lose(); }

void link::lose() noexcept {
    for (const std::uint32_t line : {forth_, back_, forth_again_, back_again_}) {
        while (task* const lost = here_.world_.take_line(line)) lost->abandon();
    }
}

void link::cut(bool loses) {
    if (std::exchange(is_cut_, true)) return;
    if (loses) lose();
    if (on_cut_) here_.get_executor().task_sink::post(on_cut_);
}

bool link::is_repeated() {
    return !is_cut_ && here_.world_.choose_fault(fault::duplicate, 2, name_.c_str()) != 0;
}

void link::transmit_again(task* message, sim_context& to, std::uint32_t line) {
    if (to.is_stopped()) return message->abandon();
    const std::int64_t late = here_.world_.choose_delay(fault::link_delay, name_.c_str());
    here_.world_.put(message, to, task_order::usual, line, latency_ + late);
}

bool link::transmit(task* message, sim_context& to, std::uint32_t line) {
    simulation& world = here_.world_;
    const std::uint32_t how = is_cut_ ? 0 : world.choose_fault(fault::link_cut, 3, name_.c_str());
    if (how == 1) cut(true);
    if (is_cut_ || to.is_stopped()) {
        message->abandon();
        return false;
    }
    if (world.choose_fault(fault::link_drop, 2, name_.c_str()) != 0) {
        message->abandon();
        return true;
    }
    const std::int64_t late = world.choose_delay(fault::link_delay, name_.c_str());
    world.put(message, to, task_order::usual, line, latency_ + late);
    // The connection breaks after this message, so the message still arrives, but an answer to the message
    // does not.
    if (how == 2) cut(false);
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI::sim
