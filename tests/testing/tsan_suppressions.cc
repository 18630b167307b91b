// What ThreadSanitizer reports though it is no race: glibc changes what it knows of the time zone
// under a lock of its own, which the sanitizer does not see; glog asks for it with every message,
// so that two threads which log at once are reported.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "race:tzset_internal\n"; }
