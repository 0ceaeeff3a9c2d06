/* Places in the code. See place.h. */
#include "facts/place.h"

#include <string.h>

static const struct hd_place nowhere = {"", 0, "", ""};

const struct hd_place *hd_place(const struct hd_places *places, uint32_t number) {
    return number == 0 || number > places->list.size ? &nowhere : &places->list.data[number - 1];
}

uint32_t hd_place_make(struct hd_places *places, const char *module, uint64_t offset,
                       const char *where, const char *function) {
    uint64_t key = hd_mix64(hd_wire_name_hash(module) ^ hd_mix64(offset + 1));
    uint32_t *slot = hd_map_slot(&places->number, key, 0);
    if (slot == NULL) return 0;
    if (*slot != 0) {
        struct hd_place *known = &places->list.data[*slot - 1];
        if (known->where[0] == '\0' && where[0] != '\0') {
            known->where = hd_arena_copy(&places->arena, where, strlen(where));
            known->function = hd_arena_copy(&places->arena, function, strlen(function));
            if (known->where == NULL || known->function == NULL) return 0;
        }
        return *slot;
    }
    struct hd_place place = {.module = hd_arena_copy(&places->arena, module, strlen(module)),
                             .offset = offset,
                             .where = hd_arena_copy(&places->arena, where, strlen(where)),
                             .function = hd_arena_copy(&places->arena, function, strlen(function))};
    if (place.module == NULL || place.where == NULL || place.function == NULL ||
        !hd_vector_push(&places->list, place))
        return 0;
    *slot = (uint32_t)places->list.size;
    return *slot;
}

uint32_t hd_place_of_site(struct hd_places *places, const struct hd_trace *trace, uint32_t site,
                          const char *where, const char *function) {
    for (uint32_t i = 0; i < trace->modules; i++) {
        const struct hd_trace_module *module = &trace->module[i];
        if (site < module->site_base ||
            site - module->site_base > module->text_hi - module->text_lo)
            continue;
        const char *name = strrchr(module->path, '/');
        name = name != NULL ? name + 1 : module->path;
        return hd_place_make(places, name, site - module->site_base, where, function);
    }
    return 0;
}

uint32_t hd_place_of_event(struct hd_places *places, const struct hd_model *model,
                           struct hd_describe *describe, uint32_t event) {
    uint32_t site = model->site[event];
    if (model->trace->format != HD_FORMAT_BINARY) { /* its sites are words */
        const char *word = hd_describe_site(describe, event);
        return word[0] == '\0' ? 0 : hd_place_make(places, word, 0, word, "");
    }
    uint32_t number = hd_place_of_site(places, model->trace, site, "", "");
    if (number == 0 || hd_place(places, number)->where[0] != '\0') return number;
    return hd_place_of_site(places, model->trace, site, hd_describe_site(describe, event),
                            hd_describe_function(describe, event));
}

void hd_places_free(struct hd_places *places) {
    hd_vector_free(&places->list);
    hd_map_free(&places->number);
    hd_arena_free(&places->arena);
    memset(places, 0, sizeof *places);
}
