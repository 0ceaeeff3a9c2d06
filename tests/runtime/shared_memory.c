/* System V shared memory is a block with a name, from shmat to shmdt. */
#include <pthread.h>
#include <stdio.h>
#include <sys/shm.h>

static int *numbers;

static void *thread(void *argument) {
    numbers[3]++;
    return argument;
}

int main(void) {
    int id = shmget(IPC_PRIVATE, 4096, 0600);
    if (id < 0 || (numbers = shmat(id, NULL, 0)) == (void *)-1) return 77;
    shmctl(id, IPC_RMID, NULL);
    pthread_t a, b;
    pthread_create(&a, NULL, thread, NULL);
    pthread_create(&b, NULL, thread, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", numbers[3]);
    shmdt(numbers);
    return 0;
}
