import type { ChildProcess } from 'node:child_process'

const groups = new Set<number>()
process.on('exit', () => groups.forEach((pid) => killGroup(pid)))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** Remembers a detached process, so that its group ends with the runner at the latest. */
export function ownGroup(child: ChildProcess): void {
  if (child.pid !== undefined) groups.add(child.pid)
}

/** Ends all processes of a group. */
export function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  groups.delete(pid)
  killGroup(pid)
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended.
  }
}
