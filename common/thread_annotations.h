// Annotations that tell clang which lock guards what, checked by -Wthread-safety
// (.ci/thread_safety.sh); g++ ignores them. Names and meaning are those of abseil and of clang's
// "Thread Safety Analysis".
#pragma once

#if defined(__clang__)
#define ROWHOUSE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define ROWHOUSE_THREAD_ANNOTATION(x)
#endif

// Of a class: objects of it are locks.
#define CAPABILITY(name) ROWHOUSE_THREAD_ANNOTATION(capability(name))
// Of a class: its constructor takes a lock and its destructor releases it.
#define SCOPED_CAPABILITY ROWHOUSE_THREAD_ANNOTATION(scoped_lockable)

// Of a member: it is read and written only with this lock held.
#define GUARDED_BY(lock) ROWHOUSE_THREAD_ANNOTATION(guarded_by(lock))
// Of a pointer: what it points to is read and written only with this lock held.
#define PT_GUARDED_BY(lock) ROWHOUSE_THREAD_ANNOTATION(pt_guarded_by(lock))

// Of a function: its caller holds these locks.
#define REQUIRES(...) ROWHOUSE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// Of a function: its caller holds none of these locks, as the function takes them itself.
#define EXCLUDES(...) ROWHOUSE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
// Of a function: it returns with these locks held.
#define ACQUIRE(...) ROWHOUSE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
// Of a function: it releases these locks.
#define RELEASE(...) ROWHOUSE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

// Of a function: the analysis leaves it out. A comment beside it says why it is right.
#define NO_THREAD_SAFETY_ANALYSIS ROWHOUSE_THREAD_ANNOTATION(no_thread_safety_analysis)
