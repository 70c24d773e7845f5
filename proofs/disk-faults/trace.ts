import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a call of the operating system answers in place of its work. */
export interface DiskFault {
  /** Name of the call, such as `pwrite64`. */
  call: string
  /** In the words of `strace -e inject`: `error=EIO`, or `retval=0` for a write that wrote nothing. */
  answer: string
  /** The fault happens at this call of the kind, counted from 1 in each thread. */
  when: number
}

/** A running `strace` of a process. */
export interface Trace {
  /** Ends the trace; the process runs on. Resolves with the seen calls, and with the calls that failed on purpose. */
  end(): Promise<{ calls: string[]; injected: string[] }>
}

/** The calls that change a disk, by which databases and files are written. */
export const diskCalls = ['pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'rename', 'unlink'] as const

/** Attaches `strace` to all threads of a process. Resolves when the first call can be caught. */
export async function attach(pid: number, log: string, fault?: DiskFault): Promise<Trace> {
  await rm(log, { force: true })
  const inject = fault ? ['-e', `inject=${fault.call}:${fault.answer}:when=${fault.when}`] : []
  const child = spawn('strace', ['-f', '-y', '-s', '0', '-p', String(pid), '-o', log, '-e', `trace=${diskCalls.join(',')}`, ...inject], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = once(child, 'exit')
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  for (let tries = 0; !said.includes('attached'); tries++) {
    if (child.exitCode !== null || tries > 500) throw new Error(`strace does not attach: ${said}`)
    await sleep(10)
  }
  return {
    async end() {
      child.kill('SIGINT')
      await ended
      const calls = (await readFile(log, 'utf8')).split('\n').filter((line) => /^\d+ +\w+\(/.test(line))
      return { calls, injected: calls.filter((line) => line.endsWith('(INJECTED)')) }
    },
  }
}
