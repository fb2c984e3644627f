/*
 * The lists were made from what the agents, the embedded engine and their libraries were seen to
 * call in the test suites, and completed to whole families: a C library that is a few years newer
 * uses another member of the same family (stat, fstatat, statx), and refusing it would gain
 * nothing. What is missing on purpose: other processes, other users, programs, mounts, namespaces,
 * kernel code, keys, and io_uring, whose operations a filter does not see.
 */
#include "common/privilege/syscall_list.h"

#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

const struct syscall_group syscalls_common[] = {
	{"memory",
	 SYSCALLS("brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "msync",
		  "mlock", "mlock2", "munlock", "mlockall", "munlockall", "membarrier",
		  "memfd_create", "get_mempolicy", "set_mempolicy", "mbind", "pkey_alloc",
		  "pkey_free", "pkey_mprotect", "map_shadow_stack", "mseal")},
	{"threads",
	 SYSCALLS("clone", "exit", "exit_group", "futex", "futex_wait", "futex_wake",
		  "futex_requeue", "futex_waitv", "set_robust_list", "get_robust_list",
		  "set_tid_address", "rseq", "gettid", "getpid", "getppid", "tgkill", "tkill",
		  "kill", "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam",
		  "sched_setparam", "sched_getscheduler", "sched_setscheduler", "sched_getattr",
		  "sched_setattr", "sched_rr_get_interval", "sched_get_priority_max",
		  "sched_get_priority_min", "getpriority", "setpriority", "ioprio_get",
		  "ioprio_set", "getcpu", "prctl", "arch_prctl", "restart_syscall")},
	{"made by the kernel's own code where somebody traces this process",
	 SYSCALLS("uretprobe", "uprobe")},
	{"signals", SYSCALLS("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending",
			     "rt_sigsuspend", "rt_sigtimedwait", "rt_sigqueueinfo",
			     "rt_tgsigqueueinfo", "sigaltstack", "signalfd", "signalfd4", "pause")},
	{"clocks and timers",
	 SYSCALLS("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday",
		  "time", "times", "getrusage", "timer_create", "timer_settime", "timer_gettime",
		  "timer_getoverrun", "timer_delete", "timerfd_create", "timerfd_settime",
		  "timerfd_gettime", "getitimer", "setitimer", "alarm")},
	{"waiting for events",
	 SYSCALLS("epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
		  "epoll_pwait2", "eventfd", "eventfd2", "poll", "ppoll", "select", "pselect6",
		  "pipe", "pipe2", "inotify_init", "inotify_init1", "inotify_add_watch",
		  "inotify_rm_watch", "wait4", "waitid", "pidfd_open", "pidfd_send_signal")},
	{"reading and writing",
	 SYSCALLS("read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev",
		  "preadv2", "pwritev2", "lseek", "sendfile", "splice", "tee", "vmsplice",
		  "copy_file_range", "fsync", "fdatasync", "sync_file_range", "syncfs", "sync",
		  "ftruncate", "truncate", "fallocate", "fadvise64", "readahead", "io_setup",
		  "io_destroy", "io_submit", "io_getevents", "io_pgetevents", "io_cancel")},
	{"files and folders",
	 SYSCALLS("open", "openat", "openat2", "creat", "close", "close_range", "dup", "dup2",
		  "dup3", "fcntl", "flock", "ioctl", "stat", "lstat", "fstat", "newfstatat",
		  "statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2", "readlink",
		  "readlinkat", "getdents", "getdents64", "rename", "renameat", "renameat2", "link",
		  "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "mkdir", "mkdirat",
		  "rmdir", "chmod", "fchmod", "fchmodat", "fchmodat2", "umask", "getcwd", "chdir",
		  "fchdir", "utime", "utimes", "utimensat", "futimesat", "getxattr", "lgetxattr",
		  "fgetxattr", "listxattr", "llistxattr", "flistxattr", "cachestat")},
	{"sockets",
	 SYSCALLS("socket", "socketpair", "connect", "bind", "listen", "accept", "accept4",
		  "getsockname", "getpeername", "sendto", "recvfrom", "sendmsg", "recvmsg",
		  "sendmmsg", "recvmmsg", "shutdown", "setsockopt", "getsockopt")},
	{"reading what the process and the machine are",
	 SYSCALLS("getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups",
		  "getpgid", "getpgrp", "getsid", "capget", "uname", "sysinfo", "getrandom",
		  "getrlimit", "setrlimit", "prlimit64")},
	{0},
};

/* netlink: addresses of interfaces, for getaddrinfo() */
static const uint64_t socket_families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

const struct syscall_limit syscall_limits_common[] = {
	{.name = "socket",
	 .check = SYSCALL_IS_ONE_OF,
	 .one_of = socket_families,
	 .n_one_of = ARRAY_SIZE(socket_families),
	 .reason = "no packet sockets, and no families whose kernel code is rarely used"},
	{.name = "clone",
	 .check = SYSCALL_HAS_NONE_OF,
	 .value = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
		  CLONE_NEWPID | CLONE_NEWNET,
	 .reason = "threads, but no namespaces"},
	{.name = "ioctl",
	 .argument = 1,
	 .check = SYSCALL_IS_NOT,
	 .value = TIOCSTI,
	 .reason = "types commands into the terminal that the agent was started from"},
	{0},
};

const struct syscall_group syscalls_fatal[] = {
	{"other processes",
	 SYSCALLS("ptrace", "process_vm_writev", "process_mrelease", "pidfd_getfd")},
	{"programs", SYSCALLS("execve", "execveat")},
	{"mounts and namespaces",
	 SYSCALLS("mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree",
		  "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "unshare", "setns",
		  "open_by_handle_at")},
	{"code and memory of the kernel",
	 SYSCALLS("init_module", "finit_module", "delete_module", "create_module", "kexec_load",
		  "kexec_file_load", "bpf", "userfaultfd", "iopl", "ioperm", "modify_ldt")},
	{"the machine",
	 SYSCALLS("reboot", "swapon", "swapoff", "settimeofday", "stime", "clock_settime",
		  "sethostname", "setdomainname", "acct", "vhangup", "syslog", "fanotify_init")},
	{"users", SYSCALLS("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
			   "setfsuid", "setfsgid", "setgroups", "capset")},
	{0},
};

const struct syscall_group syscalls_absent[] = {
	{"flags behind a pointer, which a filter cannot read; clone does the same",
	 SYSCALLS("clone3")},
	{"operations that a filter does not see",
	 SYSCALLS("io_uring_setup", "io_uring_enter", "io_uring_register")},
	/* both may be called while signals are blocked, when a call must not trap */
	{"other processes; libunwind and jemalloc use them on their own, or do without",
	 SYSCALLS("process_vm_readv", "process_madvise")},
	{0},
};
