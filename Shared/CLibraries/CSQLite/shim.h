#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast in a macro, which Swift cannot import: these two copy their bytes.

static inline int pushbus_sqlite3_bind_text_copy(
    sqlite3_stmt *statement, int index, const char *bytes, int count) {
    return sqlite3_bind_text(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int pushbus_sqlite3_bind_blob_copy(
    sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// sqlite3_config is variadic, which Swift cannot call. Without statistics SQLite takes no lock of the
// process for each piece of memory; works only before the library is first used.
static inline int pushbus_sqlite3_no_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
