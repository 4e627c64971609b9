// The reference for HTTP/2 by libcurl's multi interface: one connection, as many transfers at a
// time as asked for, each handle used again and again.
//
//   pushbus-bench-curl URL CA-FILE BODY-FILE REQUESTS STREAMS [HEADER]...
//
// Prints `<answered 200> <seconds>`.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static size_t drop(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *fail(const char *what) {
    fprintf(stderr, "pushbus-bench-curl: %s\n", what);
    exit(1);
}

static char *read_file(const char *path, long *length) {
    static char bytes[65536];
    FILE *file = fopen(path, "rb");
    if (!file) fail("cannot read the body");
    *length = (long)fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return bytes;
}

int main(int count, char **words) {
    if (count < 6) fail("URL CA-FILE BODY-FILE REQUESTS STREAMS [HEADER]...");
    long length = 0;
    const char *body = read_file(words[3], &length);
    const long requests = atol(words[4]);
    const long streams = atol(words[5]);
    struct curl_slist *headers = NULL;
    for (int index = 6; index < count; index++) headers = curl_slist_append(headers, words[index]);

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) fail("libcurl does not start");
    CURLM *multi = curl_multi_init();
    if (!multi) fail("libcurl does not start");
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, 1000L);

    long begun = 0, done = 0, good = 0;
    const double start = now();
    for (; begun < streams && begun < requests; begun++) {
        CURL *easy = curl_easy_init();
        if (!easy) fail("out of memory");
        curl_easy_setopt(easy, CURLOPT_URL, words[1]);
        curl_easy_setopt(easy, CURLOPT_CAINFO, words[2]);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, length);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_multi_add_handle(multi, easy);
    }
    while (done < requests) {
        int running = 0, left = 0;
        curl_multi_perform(multi, &running);
        CURLMsg *message;
        while ((message = curl_multi_info_read(multi, &left))) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL *easy = message->easy_handle;
            long status = 0;
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            if (message->data.result == CURLE_OK && status == 200) good++;
            done++;
            curl_multi_remove_handle(multi, easy);
            if (begun < requests) {
                begun++;
                curl_multi_add_handle(multi, easy);
            } else {
                curl_easy_cleanup(easy);
            }
        }
        if (done < requests) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    printf("%ld %.6f\n", good, now() - start);
    curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
    curl_global_cleanup();
    return 0;
}
