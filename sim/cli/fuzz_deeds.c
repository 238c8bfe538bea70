/* What the plans of a campaign did: orders of steps that ran, and the ways of loading that coverage counts. */
#include <string.h>

#include "sim/cli/fuzz.h"

enum cs_status cs_campaign_coverage_open(struct cs_campaign *campaign) {
    if (!cs_options_value(&campaign->options, "coverage")) return CS_OK;
    const struct cs_coverage_registries registries = cs_coverage_own_registries();
    campaign->coverage_model = CS_NEW(&campaign->arena, struct cs_coverage_model);
    CS_REQUIRE(campaign->coverage_model, CS_NO_MEMORY, "no memory for coverage");
    CS_TRY(cs_coverage_model(campaign->coverage_model, &registries, &campaign->arena));
    cs_coverage_init(&campaign->coverage, campaign->coverage_model, &campaign->arena);
    return CS_OK;
}

/* Of the scenario that was judged, made again: it does not travel. */
static enum cs_status note_coverage(struct cs_campaign *campaign, const struct cs_fuzz_answer *answer) {
    struct cs_arena scratch = {0};
    struct cs_scenario scenario;
    const struct cs_fuzz_plan *plan = &answer->judged;
    struct cs_verdict verdict = {.device = cs_axis_value(CS_AXIS_device, plan->axis[CS_AXIS_device]),
                                 .policy = cs_axis_value(CS_AXIS_policy, plan->axis[CS_AXIS_policy]),
                                 .n_accepted = answer->deeds.n_accepted,
                                 .n_refused = answer->deeds.n_refused,
                                 .is_unsupported = answer->deeds.is_unsupported,
                                 .waiting = answer->deeds.waiting};
    memcpy(verdict.probes, answer->deeds.probes, sizeof verdict.probes);
    enum cs_status status = cs_fuzz_scenario(plan, "fuzz.plan", &scratch, &scenario);
    if (status == CS_OK) status = cs_coverage_note(&campaign->coverage, &scenario, &verdict);
    cs_arena_release(&scratch);
    return status;
}

enum cs_status cs_campaign_note_deeds(struct cs_campaign *campaign, enum cs_part part,
                                      const struct cs_fuzz_answer *answer) {
    if (part == CS_PART_ILLEGAL || answer->status != CS_OK || answer->is_crash) return CS_OK;
    if (part == CS_PART_GUARANTEED) {
        void *items = campaign->ran;
        struct cs_fuzz_plan *ran =
            cs_arena_grow(&campaign->arena, &items, campaign->n_ran, &campaign->ran_capacity, sizeof *ran);
        CS_REQUIRE(ran, CS_NO_MEMORY, "no memory for %zu plans", campaign->n_ran + 1);
        campaign->ran = items;
        *ran = answer->judged;
        campaign->n_ran++;
    }
    /* coverage's model knows what the release refuses; without its faults an engine takes more */
    bool is_released = answer->judged.axis[CS_AXIS_engine] == 0;
    return campaign->coverage_model && is_released ? note_coverage(campaign, answer) : CS_OK;
}

enum cs_status cs_campaign_count_ran(const struct cs_campaign *campaign, int64_t *n_orders) {
    struct cs_recount recount;
    CS_TRY(cs_recount(campaign->stream_options.t, campaign->ran, campaign->n_ran, &recount));
    *n_orders = recount.orders;
    return CS_OK;
}
