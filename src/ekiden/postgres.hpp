/// Requests that travel between processes in tables of PostgreSQL.
///
/// Part: postgres. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/postgres/poster.hpp>
#include <ekiden/postgres/reply.hpp>
#include <ekiden/postgres/settings.hpp>
#include <ekiden/postgres/worker.hpp>
