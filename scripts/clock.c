// clock SECONDS COMMAND... runs a command, and all that it starts, on a machine whose clock is
// ahead by so many seconds, or behind with a minus: what they read of the kernel as the time of
// day is off. Files keep the kernel's own times, and so do timers.
//
// It traces them, and hides the vDSO at each exec, by which Go and libc read the clock without
// a system call: neither a library in between nor a namespace of time changes that. Linux on
// x86-64.
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long seconds;

// add adds the seconds to a word of a process.
static void add(pid_t pid, unsigned long address)
{
	long word = ptrace(PTRACE_PEEKDATA, pid, address, 0);
	ptrace(PTRACE_POKEDATA, pid, address, word + seconds);
}

// hide_vdso removes the vDSO from what the kernel has put on the stack: the number of
// arguments, the arguments, 0, the environment, 0, and pairs of a type and a value.
static void hide_vdso(pid_t pid)
{
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	unsigned long at = r.rsp + 8 * (ptrace(PTRACE_PEEKDATA, pid, r.rsp, 0) + 2);
	while (ptrace(PTRACE_PEEKDATA, pid, at, 0))
		at += 8;
	for (at += 8;; at += 16) {
		long type = ptrace(PTRACE_PEEKDATA, pid, at, 0);
		if (type == AT_SYSINFO_EHDR)
			ptrace(PTRACE_POKEDATA, pid, at, AT_IGNORE);
		if (type == AT_NULL || type == -1)
			return;
	}
}

// change changes the result of a system call, if it is a time of day. Where a call begins the
// result is -ENOSYS.
static void change(pid_t pid)
{
	struct user_regs_struct r;
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	if ((long)r.rax < 0)
		return;
	switch (r.orig_rax) {
	case SYS_clock_gettime:
		if (r.rdi == CLOCK_REALTIME || r.rdi == CLOCK_REALTIME_COARSE || r.rdi == CLOCK_TAI)
			add(pid, r.rsi);
		break;
	case SYS_gettimeofday:
		if (r.rdi)
			add(pid, r.rdi);
		break;
	case SYS_time:
		if (r.rdi)
			add(pid, r.rdi);
		r.rax += seconds;
		ptrace(PTRACE_SETREGS, pid, 0, &r);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: clock SECONDS COMMAND...\n");
		return 2;
	}
	seconds = atol(argv[1]);
	pid_t child = fork(), pid;
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	int status, result = 1;
	waitpid(child, &status, 0);
	if (ptrace(PTRACE_SETOPTIONS, child, 0,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) {
		perror("clock: ptrace");
		kill(child, SIGKILL);
		return 1;
	}
	ptrace(PTRACE_SYSCALL, child, 0, 0);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		int deliver = 0;
		if (pid < 0)
			continue;
		if (!WIFSTOPPED(status)) {
			if (pid == child)
				result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			hide_vdso(pid);
		else if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			change(pid);
		else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) // each new one begins with SIGSTOP
			deliver = WSTOPSIG(status);
		ptrace(PTRACE_SYSCALL, pid, 0, deliver);
	}
	return result;
}
