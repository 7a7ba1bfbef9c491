#include <ekiden/async/async_turn.hpp>

#include <ekiden/context/serial_scope.hpp>

#include <system_error>

namespace ekiden::inline EKIDEN_ABI::detail {

void refuse_second_turn(const turn_record& wanted, const environment* from) {
    const void* const lanes = wanted.lanes();
    const bool is_inside =
        serial_scope::is_inside(lanes)
        || (from != nullptr && (from->turns.has_turn(lanes) || lanes_of(from->executor) == lanes));
    if (!is_inside) return;
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                            "ekiden: async_turn: called during a turn in the same lanes, or in one of these "
                            "lanes; two such coroutines could wait for each other");
}

} // namespace ekiden::inline EKIDEN_ABI::detail
