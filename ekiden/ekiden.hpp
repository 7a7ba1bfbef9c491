/// All public headers of the library at once.
#pragma once

#include <ekiden/future/promise.hpp>
#include <ekiden/pool/thread_pool.hpp>
