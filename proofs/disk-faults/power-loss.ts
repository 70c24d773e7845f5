import { cp, mkdir, open, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '../../test/fixtures/process.ts'
import { createLedger, runChats, type Ledger } from './script.ts'
import { attach } from './trace.ts'
import { verify } from './verify.ts'

/** Bytes that were written to a file, and that no sync has covered. */
export interface UnsyncedWrite {
  file: string
  offset: number
  length: number
}

interface Options {
  /** Number of losses. */
  count: number
  folder: string
  random: () => number
}

const clients = 3

/**
 * Stops the service at random moments under load and copies its folder as a power loss might leave it: of what was written but not synced, a
 * random half is gone. Starts the service on each copy, and compares it with what was acknowledged until then.
 * @returns what was wrong, in words, and the number of writes that were lost
 */
export async function losePower({ count, folder, random }: Options): Promise<{ wrong: string[]; lostWrites: number }> {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  const wrong: string[] = []
  let lostWrites = 0
  const live = path.join(folder, 'live')
  await mkdir(live)
  const service = await serve(scope, live, { LOG_FORMAT: 'json' })
  const pid = service.child.pid!
  let isActive = true
  try {
    for (let index = 0; index < count; index++) {
      const ledger = createLedger()
      const log = path.join(folder, 'power.log')
      const trace = await attach(pid, log)
      isActive = true
      const load = Array.from({ length: clients }, async (_, client) => {
        for (let part = 0; isActive; part++) await runChats(service.client, `p${index}-${client}-${part}`, ledger)
      })
      await sleep(300 + random() * 2000)
      service.child.kill('SIGSTOP')
      const known = structuredClone(ledger)
      const image = path.join(folder, `image-${index}`)
      await copyStopped(log, live, image)
      const gone = unsyncedWrites(await readFile(log, 'utf8')).filter(() => random() < 0.5)
      for (const write of gone) await erase(write, live, image)
      lostWrites += gone.length
      isActive = false
      service.child.kill('SIGCONT')
      await Promise.all(load)
      await trace.end()
      wrong.push(...(await faultsOfImage(image, known)).map((text) => `after power loss ${index}: ${text}`))
      await rm(image, { recursive: true, force: true })
    }
  } finally {
    service.child.kill('SIGCONT')
    for (const end of ends) await end()
  }
  return { wrong, lostWrites }
}

/** Copies the folder of a process that is being stopped. */
async function copyStopped(log: string, from: string, to: string): Promise<void> {
  for (let tries = 0; !(await readFile(log, 'utf8')).includes('--- stopped by SIGSTOP ---'); tries++) {
    if (tries > 500) throw new Error('The process does not stop.')
    await sleep(10)
  }
  await cp(from, to, { recursive: true })
}

/** Overwrites the bytes with zeros in the copy. */
async function erase({ file, offset, length }: UnsyncedWrite, from: string, to: string): Promise<void> {
  const copy = path.join(to, path.relative(from, file))
  const handle = await open(copy, 'r+').catch(() => undefined)
  if (!handle) return
  const { size } = await handle.stat()
  const end = Math.min(size, offset + length)
  if (end > offset) await handle.write(Buffer.alloc(end - offset), 0, end - offset, offset)
  await handle.close()
}

async function faultsOfImage(image: string, ledger: Ledger): Promise<string[]> {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.unshift(end) }
  try {
    const service = await serve(scope, image, { LOG_FORMAT: 'json' })
    return await verify(service.client, ledger)
  } catch (error) {
    return [String(error).slice(0, 500)]
  } finally {
    for (const end of ends) await end()
  }
}

/**
 * The writes in a log of `strace -f -y` without a sync of the file. A sync covers the writes before the start of the sync. Only
 * `pwrite64`, which databases use: all other files are written, synced and renamed as a whole.
 */
export function unsyncedWrites(log: string): UnsyncedWrite[] {
  const unsynced = new Map<string, UnsyncedWrite[]>()
  /** Syncs that have begun, by thread: the file, and the number of writes to the file at the begin. */
  const begun = new Map<string, { file: string; count: number }>()
  const covered = ({ file, count }: { file: string; count: number }) => unsynced.get(file)?.splice(0, count)
  for (const line of log.split('\n')) {
    const [, thread = '', call = ''] = /^(\d+) +(?:<\.\.\. )?(\w+)/.exec(line) ?? []
    if (call === 'pwrite64') {
      const [, file, length, offset] = /^\d+ +pwrite64\(\d+<(.+?)>, .*, (\d+), (\d+)(?:\) += \d+| <unfinished)/.exec(line) ?? []
      if (file !== undefined) unsynced.set(file, [...(unsynced.get(file) ?? []), { file, offset: Number(offset), length: Number(length) }])
    } else if (call === 'fsync' || call === 'fdatasync') {
      const [, file] = /sync\(\d+<(.+?)>/.exec(line) ?? []
      const sync = file === undefined ? begun.get(thread) : { file, count: unsynced.get(file)?.length ?? 0 }
      if (sync && line.endsWith('<unfinished ...>')) begun.set(thread, sync)
      else if (sync && line.endsWith(' = 0')) covered(sync)
    }
  }
  return [...unsynced.values()].flat()
}
