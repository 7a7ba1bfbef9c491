// Replaces the backend of std::execution::parallel_scheduler by the default pool of this library. The target
// ekiden::parallel_scheduler compiles this file in the program that links the target, because the interface
// of the backend belongs to the implementation of senders.
#include <ekiden/adapter/std_execution/scheduler.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/queue/recycler.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <utility>

// The namespace of the interface. Older implementations name it system_context_replaceability.
#if !defined(EKIDEN_SENDERS_REPLACEMENT)
#define EKIDEN_SENDERS_REPLACEMENT parallel_scheduler_replacement
#endif

namespace {

namespace replacement = EKIDEN_SENDERS::EKIDEN_SENDERS_REPLACEMENT;
using stop_token = ekiden::senders_tokens::inplace_stop_token;

template <class Proxy>
bool is_stopped(const Proxy& receiver) noexcept {
    const auto token = receiver.template try_query<stop_token>(ekiden::senders_tokens::get_stop_token);
    return token && token->stop_requested();
}

/// A task in the storage of the caller, or in a recycled node if the storage is too small.
template <class Proxy, class Work>
class operation final : public ekiden::task {
public:
    static void post(Proxy& receiver, const Work& work, std::span<std::byte> storage) noexcept {
        void* where = storage.data();
        std::size_t size = storage.size();
        ekiden::task* made = nullptr;
        try {
            if (std::align(alignof(operation), sizeof(operation), where, size) != nullptr)
                made = ::new (where) operation(receiver, work, false);
            else
                made = ekiden::recycler::create<operation>(receiver, work, true);
        } catch (...) {
            return receiver.set_error(std::current_exception());
        }
        try {
            (void)ekiden::accept_task(ekiden::default_pool().get_executor(), made, ekiden::task_order::usual);
        } catch (...) { // accept_task() has abandoned the task, so the operation has completed
        }
    }

    operation(Proxy& receiver, const Work& work, bool is_recycled) noexcept
        : task(&answer), receiver_(receiver), work_(work), is_recycled_(is_recycled) {}

private:
    static const char* answer(task* base, ekiden::task_request request) {
        if (request == ekiden::task_request::describe) return ekiden::type_description<operation>();
        auto* const self = static_cast<operation*>(base);
        Proxy& receiver = self->receiver_;
        const Work work = self->work_;
        if (self->is_recycled_)
            ekiden::recycler::destroy(self);
        else
            std::destroy_at(self);
        if (request != ekiden::task_request::run || is_stopped(receiver)) {
            receiver.set_stopped();
        } else {
            try {
                work(receiver);
            } catch (...) {
                receiver.set_error(std::current_exception());
                return nullptr;
            }
            receiver.set_value();
        }
        return nullptr;
    }

    Proxy& receiver_;
    Work work_;
    const bool is_recycled_;
};

template <class Proxy, class Work>
void post(Proxy& receiver, const Work& work, std::span<std::byte> storage) noexcept {
    operation<Proxy, Work>::post(receiver, work, storage);
}

class pool_backend final : public replacement::parallel_scheduler_backend {
public:
    void schedule(replacement::receiver_proxy& receiver, std::span<std::byte> storage) noexcept override {
        post(receiver, [](auto&) {}, storage);
    }
    void schedule_bulk_chunked(std::size_t count, replacement::bulk_item_receiver_proxy& receiver,
                               std::span<std::byte> storage) noexcept override {
        post(
            receiver,
            [count](auto& to) {
                (void)ekiden::detail::run_loop(
                    &ekiden::default_pool(), count, ekiden::loop_options(),
                    [&to](std::size_t from, std::size_t end) { to.execute(from, end); });
            },
            storage);
    }
    void schedule_bulk_unchunked(std::size_t count, replacement::bulk_item_receiver_proxy& receiver,
                                 std::span<std::byte> storage) noexcept override {
        post(
            receiver,
            [count](auto& to) {
                (void)ekiden::parallel_for(ekiden::default_pool(), std::size_t{0}, count,
                                           [&to](std::size_t i) { to.execute(i, i + 1); });
            },
            storage);
    }
};

} // namespace

namespace EKIDEN_SENDERS::EKIDEN_SENDERS_REPLACEMENT {

std::shared_ptr<parallel_scheduler_backend> query_parallel_scheduler_backend() {
    static_cast<void>(ekiden::default_pool()); // reports here that the pool cannot be made
    static const auto backend = std::make_shared<pool_backend>();
    return backend;
}

} // namespace EKIDEN_SENDERS::EKIDEN_SENDERS_REPLACEMENT
