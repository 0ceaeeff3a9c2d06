/* Sites: see site.h. */
#include "facts/site.h"

#include "facts/patterns.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* ---- within a run ----------------------------------------------------------------------------
 */

/* The word for a site of a text trace; NULL if it has none. */
static const char *word_of(const struct hd_trace *trace, uint32_t site) {
    if (trace->site_names == NULL || site >= trace->sites) return NULL;
    const char *word = trace->site_names[site];
    return word != NULL && word[0] != '\0' ? word : NULL;
}

uint32_t hd_site_number(const struct hd_model *model, struct hd_map *number, uint32_t event,
                        uint32_t location) {
    const struct hd_trace *trace = model->trace;
    uint32_t site = model->site[event];
    bool named = trace->site_names != NULL ? word_of(trace, site) != NULL
                                           : trace->format == HD_FORMAT_BINARY && site != 0;
    uint64_t key =
        named ? site
              : (uint64_t)1 << 63 | (uint64_t)location << 1 | hd_model_is_write(model, event);
    return *hd_map_slot(number, key, number->count);
}

/* ---- by the code -----------------------------------------------------------------------------
 */

static uint64_t code_of(const char *module, uint64_t offset) {
    return hd_mix64(hd_wire_name_hash(module) ^ hd_mix64(offset + 1));
}

/* The file name of the module that a site is in, and the offset there; NULL if it is in none. */
static const char *module_of(const struct hd_trace *trace, uint32_t site, uint64_t *offset) {
    for (uint32_t i = 0; i < trace->modules; i++) {
        const struct hd_trace_module *module = &trace->module[i];
        if (site < module->site_base ||
            site - module->site_base > module->text_hi - module->text_lo)
            continue;
        const char *name = strrchr(module->path, '/');
        *offset = site - module->site_base;
        return name != NULL ? name + 1 : module->path;
    }
    return NULL;
}

uint64_t hd_site_code(const struct hd_trace *trace, uint32_t site) {
    uint64_t offset = 0;
    const char *module =
        trace->site_names != NULL ? word_of(trace, site) : module_of(trace, site, &offset);
    if (module != NULL) return code_of(module, offset);
    return trace->site_names != NULL ? 0 : hd_mix64(site);
}

static const char *keep(struct hd_sites *sites, const char *text) {
    return hd_arena_copy(&sites->arena, text, strlen(text));
}

uint32_t hd_site_make(struct hd_sites *sites, const char *module, uint64_t offset,
                      const char *where, const char *function) {
    uint32_t fresh = (uint32_t)sites->list.size + 1;
    uint32_t number = *hd_map_slot(&sites->number, code_of(module, offset), fresh);
    if (number == fresh) {
        struct hd_site site = {keep(sites, module), offset, "", ""};
        hd_vector_push(&sites->list, site);
    }
    struct hd_site *site = &sites->list.data[number - 1];
    if (site->where[0] == '\0' && where[0] != '\0') {
        site->where = keep(sites, where);
        site->function = keep(sites, function);
    }
    return number;
}

uint32_t hd_site_of_trace(struct hd_sites *sites, const struct hd_trace *trace, uint32_t site) {
    uint64_t offset;
    const char *module = module_of(trace, site, &offset);
    return module != NULL ? hd_site_make(sites, module, offset, "", "") : 0;
}

uint32_t hd_site_of_event(struct hd_sites *sites, const struct hd_model *model,
                          struct hd_describe *describe, uint32_t event) {
    if (model->trace->format != HD_FORMAT_BINARY) { /* its sites are words */
        const char *word = hd_describe_site(describe, event);
        return word[0] == '\0' ? 0 : hd_site_make(sites, word, 0, word, "");
    }
    uint32_t number = hd_site_of_trace(sites, model->trace, model->site[event]);
    const struct hd_site *site = hd_site(sites, number);
    if (number == 0 || site->where[0] != '\0') return number;
    return hd_site_make(sites, site->module, site->offset, hd_describe_site(describe, event),
                        hd_describe_function(describe, event));
}

const struct hd_site *hd_site(const struct hd_sites *sites, uint32_t number) {
    static const struct hd_site none = {"", 0, "", ""};
    return number == 0 || number > sites->list.size ? &none : &sites->list.data[number - 1];
}

void hd_sites_free(struct hd_sites *sites) {
    hd_vector_free(&sites->list);
    hd_map_free(&sites->number);
    hd_arena_free(&sites->arena);
    memset(sites, 0, sizeof *sites);
}

/* ---- by the source ---------------------------------------------------------------------------
 */

void hd_site_words(struct hd_describe *describe, const struct hd_model *model, uint32_t event,
                   char words[HD_SITE_WORDS]) {
    static const char *const operation[] = {"", " r", " w", " u"};
    const char *does = operation[hd_access_does(model, event)];
    const char *site = hd_describe_site(describe, event);
    const struct hd_frame *frame =
        model->trace->format == HD_FORMAT_BINARY ? hd_describe_frame(describe, event) : NULL;
    if (frame != NULL && frame->file != NULL && frame->line != 0)
        snprintf(words, HD_SITE_WORDS, "%s:%u:%u %s%s", frame->file, frame->line, frame->column,
                 frame->function, does);
    else /* without a word, a text trace's site is told by the variable */
        snprintf(words, HD_SITE_WORDS, "%s%s",
                 *site != '\0' ? site : hd_describe_event(describe, event, HD_SHORT), does);
    for (char *c = words; *c != '\0'; c++)
        if ((unsigned char)*c < ' ') *c = '_';
}

uint64_t hd_site_source(struct hd_describe *describe, const struct hd_model *model,
                        uint32_t event) {
    char words[HD_SITE_WORDS];
    hd_site_words(describe, model, event, words);
    return XXH3_64bits(words, strlen(words));
}
