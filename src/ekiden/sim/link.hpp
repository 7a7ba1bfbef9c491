/// A simulated connection between two contexts. Messages arrive in order, take time, and may be lost.
///
/// Part: sim. Used by: tests of programs, which use a link in place of a network.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sim/sim_context.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::sim {

/// A connection between two contexts of a simulation. A message is a function that is called at the other
/// end.
///
/// Messages in one direction keep their order. Messages of different connections can overtake each other. The
/// fault link_delay delays messages, link_drop loses messages, and link_cut breaks the connection. The fault
/// duplicate delivers a message a second time, as if a sender had repeated it. The second delivery can come
/// after later messages. A message whose function cannot be copied is delivered once. The contexts must
/// outlive the link. The destructor of the link loses the messages in flight.
class link {
public:
    link(sim_context& here, sim_context& there, std::string name,
         std::chrono::nanoseconds latency = std::chrono::milliseconds(1));
    ~link();
    link(const link&) = delete;
    link& operator=(const link&) = delete;

    /// Calls `f()` at the other end when the message arrives. Returns false if the connection is broken. Even
    /// if send() returns true, the message can be lost.
    template <class F>
    [[nodiscard]] bool send(F&& f) {
        repeat(f, there_, forth_again_);
        return transmit(ekiden::make_task(std::forward<F>(f), "link::send"), there_, forth_);
    }
    /// Like send(), but from the second context to the first one.
    template <class F>
    [[nodiscard]] bool send_back(F&& f) {
        repeat(f, here_, back_again_);
        return transmit(ekiden::make_task(std::forward<F>(f), "link::send_back"), here_, back_);
    }

    /// Breaks the connection. Messages in flight are lost. The function that on_cut() has set is posted to
    /// the first context.
    void cut() { cut(true); }
    [[nodiscard]] bool is_cut() const noexcept { return is_cut_; }
    /// Repairs the connection. Messages that were lost before the repair do not arrive.
    void repair() noexcept { is_cut_ = false; }
    void on_cut(std::function<void()> f) { on_cut_ = std::move(f); }

private:
    template <class F>
    void repeat(const F& f, sim_context& to, std::uint32_t line) {
        if constexpr (std::copy_constructible<F>) {
            if (is_repeated()) transmit_again(ekiden::make_task(F(f), "link: repeated"), to, line);
        }
    }
    [[nodiscard]] bool is_repeated();
    void transmit_again(task* message, sim_context& to, std::uint32_t line);
    bool transmit(task* message, sim_context& to, std::uint32_t line);
    void cut(bool loses);
    void lose() noexcept;

    sim_context& here_;
    sim_context& there_;
    const std::string name_;
    const std::int64_t latency_;
    const std::uint32_t forth_;
    const std::uint32_t back_;
    const std::uint32_t forth_again_; // the lines of repeated messages
    const std::uint32_t back_again_;
    bool is_cut_ = false;
    std::function<void()> on_cut_;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
