/* Names, text operations and classes of event kinds, all from the table in wire.h. */
#include "trace/trace.h"

static const struct {
    const char *name, *text;
    enum hd_event_class class;
} kinds[HD_EV_KINDS] = {[HD_EV_NONE] = {"NONE", "", HD_CLASS_NONE},
#define X(name, text, class) [HD_EV_##name] = {#name, text, HD_CLASS_##class},
                        HD_EVENT_KINDS(X)
#undef X
};

static unsigned checked(enum hd_event_kind kind) {
    return (unsigned)kind < HD_EV_KINDS ? (unsigned)kind : HD_EV_NONE;
}

const char *hd_kind_name(enum hd_event_kind kind) { return kinds[checked(kind)].name; }

const char *hd_kind_text(enum hd_event_kind kind) { return kinds[checked(kind)].text; }

const char *hd_event_text(enum hd_event_kind kind, unsigned flags) {
    if (kind != HD_EV_NOTE) return hd_kind_text(kind);
    switch (flags & HD_NOTE_TYPE_MASK) {
    case HD_NOTE_INIT:
        return "init";
    case HD_NOTE_DESTROY:
        return "destroy";
    case HD_NOTE_FORK:
        return "process";
    case HD_NOTE_CHILD:
    case HD_NOTE_CHILD_WAITS:
        return "child";
    default:
        return hd_kind_text(kind);
    }
}

enum hd_event_class hd_kind_class(enum hd_event_kind kind) { return kinds[checked(kind)].class; }
