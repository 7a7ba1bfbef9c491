// The chains of awaits in the dump of a context: see thread_pool::dump(). The coroutines may run and end
// during the dump, so each object is copied before it is read, and the copy is checked. No lock is acquired.
#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/execution/detail/dump_samples.hpp>
#include <ekiden/sys/own_memory.hpp>
#include <ekiden/sys/raw_output.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::detail {
namespace {

/// The largest number of coroutines of a chain that a dump shows.
constexpr std::size_t most_deep = 64;
/// The largest number of roots of one list that a dump visits. While a dump reads a list, its links may form
/// a circle.
constexpr std::size_t most_roots = 65'536;

/// A copy of the bytes of an object, which may have been destroyed.
template <class T>
class copy_of {
public:
    [[nodiscard]] bool read(const T* object) noexcept {
        return sys::copy_if_readable(bytes_, object, sizeof(T));
    }
    [[nodiscard]] const T* operator->() const noexcept { return reinterpret_cast<const T*>(bytes_); }

private:
    alignas(T) std::byte bytes_[sizeof(T)];
};

bool is_readable(const void* at, std::size_t size) noexcept {
    std::byte bytes[64];
    return size <= sizeof bytes && sys::copy_if_readable(bytes, at, size);
}

std::string_view text_at(const char* text) noexcept {
    return is_readable(text, 1) ? std::string_view(text) : std::string_view("?");
}

/// Returns whether the functions of a std::source_location can be called. In libstdc++ and libc++, it is a
/// pointer to constant data.
bool is_usable(const std::source_location& where) noexcept {
    if constexpr (sizeof(std::source_location) == sizeof(void*)) {
        const void* data = nullptr;
        std::memcpy(&data, &where, sizeof data);
        return is_readable(data, 2 * sizeof(void*) + 2 * sizeof(std::uint32_t));
    }
    return true;
}

/// Calls `f(promise, depth)` with a copy of each promise of a chain, from the root on. A promise belongs to
/// the chain only if its link leads back to the promise above.
template <class F>
void for_chain(const coroutine_promise* root, F f) noexcept {
    copy_of<coroutine_promise> own;
    const coroutine_promise* above = nullptr;
    const coroutine_promise* at = root;
    for (std::size_t depth = 0; at != nullptr && depth != most_deep; ++depth) {
        if (!own.read(at)) return;
        copy_of<await_link> link;
        const bool is_below = own->link != nullptr && link.read(own->link) && link->parent == above;
        if (above == nullptr ? own->link != nullptr : !is_below) return;
        f(*own.operator->(), at);
        above = at;
        at = own->child;
    }
}

std::uint64_t fingerprint_of(const coroutine_promise* root) noexcept {
    std::uint64_t print = 0xCBF29CE484222325;
    for_chain(root, [&print](const coroutine_promise& copy, const coroutine_promise* at) {
        print = (print ^ reinterpret_cast<std::uintptr_t>(at)) * 0x100000001B3;
        print = (print ^ copy.line()) * 0x100000001B3;
    });
    return print;
}

void write_chain(const coroutine_promise* root, sys::raw_output& out) noexcept {
    for_chain(root, [&](const coroutine_promise& copy, const coroutine_promise* at) {
        out << (at == root ? "  coroutine: " : "    awaits ");
        copy_of<environment> env;
        if (env.read(&copy.env()) && env->name != nullptr) out << text_at(env->name) << ": ";
        const std::source_location& where = copy.where();
        if (is_usable(where))
            out << text_at(where.function_name()) << " (" << text_at(where.file_name()) << ":"
                << std::uint64_t{where.line()} << ")";
        if (copy.line() == 0)
            out << ", not begun\n";
        else
            out << ", at line " << std::uint64_t{copy.line()} << "\n";
    });
}

} // namespace

void coroutine_service::dump(dump_samples& to) const noexcept {
    std::uint64_t moving = 0;
    std::uint64_t others = 0;
    for (const shard& each : shards_) {
        const root_entry* next = nullptr;
        bool is_read = sys::copy_if_readable(&next, &each.first, sizeof next);
        for (std::size_t i = 0; is_read && next != nullptr && i != most_roots; ++i) {
            copy_of<root_entry> entry;
            is_read = entry.read(next) && entry->service_ == this;
            if (!is_read) break;
            const coroutine_promise* const root = &entry->root_;
            switch (to.note(fingerprint_of(root))) {
            case dump_samples::found::same:
                write_chain(root, to.out());
                break;
            case dump_samples::found::other:
                ++moving;
                break;
            case dump_samples::found::too_many:
                ++others;
                break;
            case dump_samples::found::noted:
                break;
            }
            next = entry->next_;
        }
    }
    if (!to.is_second()) return;
    if (moving != 0) to.out() << "  coroutines that move: " << moving << "\n";
    if (others != 0) to.out() << "  coroutines that are not shown: " << others << "\n";
}

} // namespace ekiden::inline EKIDEN_ABI::detail
