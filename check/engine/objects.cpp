// Tracks the object at each address, its lifetime, and data races on it.
#include <check/engine/engine.hpp>
#include <check/engine/text.hpp>

#include <algorithm>

namespace ekiden::check {
namespace {

std::size_t slot_of(const void* at, unsigned size) noexcept {
    const auto bits = reinterpret_cast<std::uintptr_t>(at) * 0x9E3779B97F4A7C15U;
    return bits >> 40 & (size - 1U);
}

} // namespace

object* engine::find(const void* at) noexcept {
    for (std::size_t slot = slot_of(at, table_size);; slot = (slot + 1) & (table_size - 1U)) {
        object& o = table_[slot];
        if (o.execution != number) return nullptr;
        if (o.address == at) return &o;
    }
}

object& engine::remember(const void* at, bool is_atomic) noexcept {
    std::size_t slot = slot_of(at, table_size);
    while (table_[slot].execution == number && table_[slot].address != at)
        slot = (slot + 1) & (table_size - 1U);
    object& o = table_[slot];
    if (o.execution != number && ++table_used_ > table_size / 4 * 3)
        fail_at("the model has too many atomic objects and cells", "", 0);
    if (o.execution == number && o.dead && o.creator != nobody && o.creator != running
        && self().current.clock[o.creator] < o.epoch) {
        fail("memory is used again by T" + std::to_string(running) + ", but the end of the object in it, by T"
                 + std::to_string(o.creator) + ", is not ordered before",
             self().last_site);
    }
    o = {at,        nullptr, number, self().current.clock[running], static_cast<std::uint8_t>(running),
         is_atomic, false};
    return o;
}

location& engine::locate(const void* at, unsigned size, const site& where) {
    object* o = find(at);
    if (heap.contains(at)) {
        if (heap.freed(at)) fail("use after free: the memory of this atomic object has been freed", where);
        if (o == nullptr) fail("access to memory in which no atomic object has been made", where);
    }
    if (o == nullptr) {
        o = &remember(at, true);
        o->creator = nobody;
    }
    if (o->dead) fail("access to an atomic object after its destruction", where);
    if (o->creator != nobody && o->creator != running && self().current.clock[o->creator] < o->epoch) {
        fail("data race: atomic object used by T" + std::to_string(running) + ", but its construction by T"
                 + std::to_string(o->creator) + " is not ordered before",
             where);
    }
    if (o->record != nullptr) return *static_cast<location*>(o->record);
    constexpr unsigned first_capacity = 8;
    auto* l = static_cast<location*>(records.allocate(sizeof(location), alignof(location)));
    auto* messages =
        static_cast<message*>(records.allocate(first_capacity * sizeof(message), alignof(message)));
    if (l == nullptr || messages == nullptr || location_count == max_locations)
        fail("the model uses more than " + std::to_string(max_locations) + " atomic objects", where);
    std::uint64_t value = 0;
    std::memcpy(&value, at, size);
    *l = {at,
          messages,
          1,
          first_capacity,
          static_cast<std::uint16_t>(location_count),
          static_cast<std::uint8_t>(size),
          false,
          0,
          {},
          {},
          {}};
    messages[0] = {value, {}, no_event, 0, o->creator, {}, {}, false};
    o->record = l;
    for (unsigned i = 0; i < thread_count; ++i) {
        model_thread& t = threads[i];
        t.current.seen[location_count] = t.acquired.seen[location_count] = 0;
        t.released.seen[location_count] = t.lit.seen[location_count] = 0;
    }
    sequential.seen[location_count] = heavy.seen[location_count] = 0;
    locations[location_count++] = l;
    return *l;
}

plain& engine::cell(const void* at, const site& where) {
    object* o = find(at);
    if (heap.contains(at) && heap.freed(at))
        fail("use after free: the memory of this cell has been freed", where);
    if (o == nullptr) {
        if (heap.contains(at)) fail("access to memory in which no cell has been made", where);
        o = &remember(at, false);
        o->creator = nobody;
    }
    if (o->dead) fail("access to a cell after its destruction", where);
    if (o->record == nullptr) {
        auto* made = static_cast<plain*>(records.allocate(sizeof(plain), alignof(plain)));
        if (made == nullptr) fail("the execution needs too many records", where);
        *made = {o->creator, o->epoch, {}};
        o->record = made;
    }
    return *static_cast<plain*>(o->record);
}

void engine::race(const plain& p, bool writing, const site& where) {
    const model_thread& t = self();
    const auto complain = [&](unsigned other, const char* did) {
        fail(std::string("data race: ") + (writing ? "write" : "read") + " by T" + std::to_string(running)
                 + " is not ordered after the " + did + " by T" + std::to_string(other),
             where);
    };
    if (p.writer != nobody && p.writer != running && t.current.clock[p.writer] < p.written)
        complain(p.writer, "write");
    for (unsigned i = 0; writing && i < thread_count; ++i) {
        if (i != running && t.current.clock[i] < p.read[i]) complain(i, "read");
    }
}

/// The end of a lifetime conflicts with every access to the object, even an atomic one.
void engine::ended(const void* at, const site& where) {
    object* o = find(at);
    if (o == nullptr || o->dead) return;
    if (o->record != nullptr && o->is_atomic) {
        auto* l = static_cast<location*>(o->record);
        for (unsigned i = 0; i < thread_count; ++i) {
            if (i == running || self().current.clock[i] >= l->accessed[i]) continue;
            fail("atomic object destroyed by T" + std::to_string(running) + ", but an access by T"
                     + std::to_string(i) + " is not ordered before",
                 where);
        }
        l->dead = true;
    } else if (o->record != nullptr) {
        race(*static_cast<plain*>(o->record), true, where);
    }
    o->dead = true;
    o->creator = static_cast<std::uint8_t>(running); // from now on, the thread that ended its lifetime
    o->epoch = self().current.clock[running];
}

} // namespace ekiden::check
