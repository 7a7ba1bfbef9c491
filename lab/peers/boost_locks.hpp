/// Boost.Thread's read-write lock.
///
/// Used by: rwlock, rw-starvation.
#pragma once

#include <lab/peers/row.hpp>

#include <boost/thread/shared_mutex.hpp>

namespace lab::peers {

struct boost_shared_mutex : boost::shared_mutex {
    static constexpr peers::row row{"boost-shared-mutex", "boost::shared_mutex", 17};
};

} // namespace lab::peers
