/* How many jobs a second a campaign gets through whose jobs cost nothing: empty JOBS FILE, under
 * mpirun or alone. All of it is in the time but for MPI's start: rank 0 looks each job up, gives it
 * out, takes the result, writes it to FILE and reads it back. One line: jobs a second, by the
 * clock. */
#include "base/alloc.h"
#include "base/clock.h"
#include "campaign/campaign.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool perform(void *context, const struct hd_errand *errand, struct hd_errand_done *done,
                    struct hd_error *error) {
    (void)context;
    (void)error;
    hd_pack_bytes(&done->result, errand->job, errand->bytes);
    return true;
}

static bool do_all(struct hd_campaign *campaign, uint32_t jobs, struct hd_error *error) {
    const struct hd_errands *errands = hd_campaign_errands(campaign);
    uint32_t *ticket = hd_alloc(jobs, sizeof *ticket);
    for (uint32_t i = 0; i < jobs; i++) ticket[i] = errands->ask(errands->context, &i, sizeof i);
    for (uint32_t i = 0; i < jobs; i++) {
        char *result;
        size_t bytes;
        if (errands->take(errands->context, ticket[i], INFINITY, &result, &bytes, error) !=
            HD_TAKEN)
            return false;
        free(result);
    }
    free(ticket);
    return true;
}

int main(int argc, char **argv) {
    struct hd_error error = {.message = ""};
    struct hd_host host = {.library_directory = NULL};
    struct hd_errand_kind kind = {.name = "empty ", .perform = perform};
    char *word[] = {(char[]){"empty"}, NULL};
    struct hd_program subject = {.argv = word};
    if (argc != 3) return 2;
    struct hd_campaign_options options = {
        .path = argv[2], .program = &subject, .host = &host, .kind = &kind};
    if (hd_campaign_is_worker()) return hd_campaign_work(&options, &error) ? 0 : 2;
    unlink(argv[2]);
    uint32_t jobs = (uint32_t)strtoul(argv[1], NULL, 10);
    struct hd_campaign *campaign = hd_campaign_open(&options, &error);
    double start = hd_seconds_now();
    bool good = campaign != NULL && do_all(campaign, jobs, &error);
    double seconds = hd_seconds_now() - start;
    if (campaign != NULL) good = hd_campaign_close(campaign, "complete", 0, &error) && good;
    if (good)
        printf("%.0f\n", jobs / seconds);
    else
        fprintf(stderr, "%s\n", error.message);
    return good ? 0 : 2;
}
