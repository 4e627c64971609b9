#pragma once
#include <stdint.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <microhttpd.h>

// MHD_start_daemon, MHD_get_connection_info and MHD_get_daemon_info are variadic, and
// MHD_SIZE_UNKNOWN is a cast: Swift imports none of them.

static inline struct MHD_Daemon *cmhd_start(
    unsigned int flags,
    uint16_t port,
    MHD_AccessHandlerCallback access,
    void *context,
    const struct MHD_OptionItem *options) {
    return MHD_start_daemon(
        flags, port, NULL, NULL, access, context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static inline struct MHD_OptionItem cmhd_option_completed(
    MHD_RequestCompletedCallback callback, void *context) {
    struct MHD_OptionItem item = {
        MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)callback, context};
    return item;
}

static inline struct MHD_OptionItem cmhd_option_connection(
    MHD_NotifyConnectionCallback callback, void *context) {
    struct MHD_OptionItem item = {
        MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)callback, context};
    return item;
}

static inline int cmhd_hex(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

// Decodes percent escapes as MHD_http_unescape does, but leaves %00 as it is: a zero byte would end
// the text that callbacks get, and another path than the one that was sent would be answered.
static inline size_t cmhd_unescape(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    char *out = text;
    for (const char *in = text; *in;) {
        int high = in[0] == '%' ? cmhd_hex(in[1]) : -1;
        int low = high >= 0 ? cmhd_hex(in[2]) : -1;
        if (low >= 0 && (high | low) != 0) {
            *out++ = (char)(high << 4 | low);
            in += 3;
        } else {
            *out++ = *in++;
        }
    }
    *out = 0;
    return (size_t)(out - text);
}

static inline struct MHD_OptionItem cmhd_option_unescape(void) {
    struct MHD_OptionItem item = {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)cmhd_unescape, NULL};
    return item;
}

static inline void *cmhd_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static inline int cmhd_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static inline const struct sockaddr *cmhd_client_address(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

static inline uint16_t cmhd_bound_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

static inline uint64_t cmhd_size_unknown(void) { return MHD_SIZE_UNKNOWN; }
