/* What calls do to locks and threads, wrappers included. */
#include "source_help.h"

static const struct hd_source_operation *operation_in(const struct hd_source *source,
                                                      const char *function, uint32_t number) {
    uint32_t f = hd_source_function_named(source, function);
    assert_int_not_equal(f, HD_SOURCE_NONE);
    struct hd_source_range steps = source->function.data[f].steps;
    for (size_t i = 0; i < source->operation.size; i++) {
        uint32_t step = source->operation.data[i].step;
        if (step < steps.first || step >= steps.first + steps.count) continue;
        if (number-- == 0) return &source->operation.data[i];
    }
    return NULL;
}

static void check(const struct hd_source *source, const struct hd_source_operation *operation,
                  unsigned kind, const char *path) {
    char name[64];
    assert_non_null(operation);
    assert_int_equal(operation->kind, kind);
    assert_string_equal(hd_source_path_name(source, operation->path, name, sizeof name), path);
}

static void locks(void **state) {
    (void)state;
    struct hd_source source = {0};
    read_source(&source, "heddle-source 1\nunit good \"a.c\"\n"
                         "function f\nparameter p\nparameter m\nblock {\nexpr {\n"
                         "call pthread_mutex_lock ( &%p->s::m )\n"
                         "call pthread_rwlock_rdlock ( &lock )\n"
                         "call pthread_cond_wait ( &%p->s::c &%p->s::m )\n"
                         "call pthread_mutex_trylock ( %m )\n"
                         "call pthread_mutex_unlock ( &%p->s::m )\n"
                         "call other ( &%p->s::m )\n}\n}\nend\n");
    hd_source_resolve(&source);
    assert_int_equal(source.operation.size, 5);
    check(&source, operation_in(&source, "f", 0), HD_OPERATION_LOCK, "p->m");
    check(&source, operation_in(&source, "f", 1), HD_OPERATION_LOCK, "lock");
    assert_true(operation_in(&source, "f", 1)->shared);
    check(&source, operation_in(&source, "f", 2), HD_OPERATION_WAIT, "p->m");
    check(&source, operation_in(&source, "f", 3), HD_OPERATION_TRY_LOCK, "*m");
    check(&source, operation_in(&source, "f", 4), HD_OPERATION_UNLOCK, "p->m");
    assert_int_equal(operation_in(&source, "f", 0)->path, operation_in(&source, "f", 4)->path);
    hd_source_free(&source);
}

static void lock_wrappers(void **state) {
    (void)state;
    struct hd_source source = {0};
    read_source(
        &source,
        "heddle-source 1\nunit good \"a.c\"\n"
        "function my_lock\nparameter m\nblock {\nexpr {\ncall pthread_mutex_lock ( %m "
        ")\n}\n}\nend\n"
        "function enter\nparameter n\nparameter o\nblock {\nexpr {\n"
        "call pthread_mutex_lock ( &%o->s::m )\n}\n}\nend\n"
        "function leave_all\nblock {\nexpr {\ncall pthread_mutex_unlock ( &big )\n}\n}\nend\n"
        /* both: nothing for its callers */
        "function balanced\nparameter o\nblock {\nexpr {\ncall pthread_mutex_lock ( &%o->s::m )\n"
        "call pthread_mutex_unlock ( &%o->s::m )\n}\n}\nend\n"
        /* a lock that callers cannot name */
        "function hidden\nlocal l\nblock {\nexpr {\ncall pthread_mutex_lock ( %l )\n}\n}\nend\n"
        "function user\nparameter q\nblock {\nexpr {\n"
        "call my_lock ( &%q->t::lock )\n"
        "call enter ( _ %q->t::o )\n"
        "call enter ( _ &%q->t::inner )\n"
        "call leave_all ( )\ncall balanced ( %q )\ncall hidden ( )\n"
        "call my_lock ( %q )\n}\n}\nend\n");
    hd_source_resolve(&source);
    check(&source, operation_in(&source, "user", 0), HD_OPERATION_LOCK, "q->lock");
    assert_true(operation_in(&source, "user", 0)->wrapped);
    check(&source, operation_in(&source, "user", 1), HD_OPERATION_LOCK, "q->o->m");
    check(&source, operation_in(&source, "user", 2), HD_OPERATION_LOCK, "q->inner.m");
    check(&source, operation_in(&source, "user", 3), HD_OPERATION_UNLOCK, "big");
    check(&source, operation_in(&source, "user", 4), HD_OPERATION_LOCK, "*q");
    assert_null(operation_in(&source, "user", 5));
    hd_source_free(&source);
}

static void threads(void **state) {
    (void)state;
    struct hd_source source = {0};
    read_source(&source,
                "heddle-source 1\nunit good \"a.c\"\n"
                "function start\nparameter run\nparameter data\nblock {\nexpr {\n"
                "call pthread_create ( &t _ %run %data )\n}\n}\nend\n"
                "function main\nlocal i\nblock {\nexpr {\n"
                "call pthread_create ( &t _ @worker %i )\n"
                "call pthread_join ( t )\n}\n"
                "while {\ncondition expr {\nr %i\n}\nbody expr {\ncall start ( @other %i )\n}\n}\n"
                "do {\nbody expr {\ncall thrd_create ( &t @third _ )\n}\n"
                "condition expr never {\n}\n}\n}\nend\n");
    hd_source_resolve(&source);
    const struct hd_source_operation *create = operation_in(&source, "main", 0);
    check(&source, create, HD_OPERATION_CREATE, "");
    assert_int_equal(create->entry, hd_source_function_named(&source, "worker"));
    assert_int_equal(create->argument, 3);
    assert_false(create->in_loop);
    check(&source, operation_in(&source, "main", 1), HD_OPERATION_JOIN, "");
    create = operation_in(&source, "main", 2);
    check(&source, create, HD_OPERATION_CREATE, "");
    assert_int_equal(create->entry, hd_source_function_named(&source, "other"));
    assert_int_equal(create->argument, 1);
    assert_true(create->in_loop && create->wrapped);
    create = operation_in(&source, "main", 3);
    assert_int_equal(create->entry, hd_source_function_named(&source, "third"));
    assert_false(create->in_loop); /* do ... while (0) */
    create = operation_in(&source, "start", 0);
    assert_int_equal(create->entry, HD_SOURCE_NONE);
    assert_string_equal(hd_source_text(&source, create->entry_type), "void *(void *)");
    hd_source_free(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(locks), cmocka_unit_test(lock_wrappers),
                                       cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
