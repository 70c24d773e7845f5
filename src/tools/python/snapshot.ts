import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeWhole } from '../../files/write-whole.ts'
import { runnerSource, startOptions } from './runner-source.ts'

/** Python's memory as it is when it has started, in a file: with it a start takes a fifth of the time. */
export interface SnapshotFile {
  /** Its path; it is made where it is not there, or not as it was written. */
  path(): Promise<string>
  /** Whoever can't use it says so: the next one asked for is made anew. */
  discard(): Promise<void>
}

const prefix = 'python-'
/** Nobody writes one for so long. */
const abandonedMs = 600_000

/** The name holds what it was made from and a checksum of what is in it. */
export function createSnapshotFile(folder: string, make: () => Promise<Uint8Array>): SnapshotFile {
  let known: Promise<string> | undefined

  async function find(): Promise<string> {
    const key = `${prefix}${await pyodideVersion()}-${hash('sha256', runnerSource + JSON.stringify(startOptions)).slice(0, 12)}-`
    const nameOf = (sum: string) => `${key}${sum}.snapshot`
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const names = (await readdir(folder)).filter((name) => name.startsWith(prefix))
    await removeAbandoned(folder, names)
    const found = names.find((name) => name.startsWith(key) && isWhole(name))
    if (found && found === nameOf(await digest(path.join(folder, found)))) return path.join(folder, found)
    const bytes = await make()
    const target = path.join(folder, nameOf(hash('sha256', bytes)))
    await writeWhole(target, bytes)
    for (const name of names.filter(isWhole)) if (path.join(folder, name) !== target) await rm(path.join(folder, name), { force: true })
    return target
  }

  return {
    path() {
      known ??= find()
      known.catch(() => (known = undefined))
      return known
    },
    async discard() {
      const file = await known?.catch(() => undefined)
      known = undefined
      if (file !== undefined) await rm(file, { force: true })
    },
  }
}

function isWhole(name: string): boolean {
  return name.endsWith('.snapshot')
}

/** What a process that was killed had begun to write. */
async function removeAbandoned(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names.filter((one) => !isWhole(one))) {
    const file = path.join(folder, name)
    const found = await stat(file).catch(() => undefined)
    if (found && found.mtimeMs < Date.now() - abandonedMs) await rm(file, { force: true })
  }
}

async function digest(file: string): Promise<string> {
  const sum = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) sum.update(chunk as Buffer)
  return sum.digest('hex')
}

async function pyodideVersion(): Promise<string> {
  const text = await readFile(fileURLToPath(import.meta.resolve('pyodide/package.json')), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version)
}
