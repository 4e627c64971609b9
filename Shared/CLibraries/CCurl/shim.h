#pragma once
#include <curl/curl.h>

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic and macros: one shim
// for each kind of value.

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) {
    return (curl_easy_setopt)(handle, option, value);
}

static inline CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value) {
    return (curl_easy_setopt)(handle, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return (curl_easy_setopt)(handle, option, value);
}

static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, long long value) {
    return (curl_easy_setopt)(handle, option, (curl_off_t)value);
}

typedef size_t (*ccurl_data_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode ccurl_set_callback(
    CURL *handle, CURLoption option, ccurl_data_callback callback) {
    return (curl_easy_setopt)(handle, option, callback);
}

// Called when the request is about to be written, each time that happens.
typedef int (*ccurl_request_callback)(
    void *context, char *peer_ip, char *own_ip, int peer_port, int own_port);

static inline CURLcode ccurl_set_before_request(CURL *handle, ccurl_request_callback callback) {
    return (curl_easy_setopt)(handle, CURLOPT_PREREQFUNCTION, callback);
}

static inline long ccurl_get_long(CURL *handle, CURLINFO info) {
    long value = 0;
    (curl_easy_getinfo)(handle, info, &value);
    return value;
}

static inline long long ccurl_get_size(CURL *handle, CURLINFO info) {
    curl_off_t value = 0;
    (curl_easy_getinfo)(handle, info, &value);
    return value;
}

static inline void *ccurl_get_private(CURL *handle) {
    char *value = NULL;
    (curl_easy_getinfo)(handle, CURLINFO_PRIVATE, &value);
    return value;
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return (curl_multi_setopt)(multi, option, value);
}

static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}
