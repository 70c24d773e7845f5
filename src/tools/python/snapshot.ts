import { createHash, hash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { runnerSource, startOptions } from './runner-source.ts'

/** Python's memory as it is when it has started, in a file: with it a start takes a fifth of the time. */
export interface SnapshotFile {
  /** Its path; it is made where it is not there, or not as it was written. */
  path(): Promise<string>
  /** Whoever can't use it says so: the next one asked for is made anew. */
  discard(): Promise<void>
}

const prefix = 'python-'

/** The name holds what it was made from and a checksum of what is in it. */
export function createSnapshotFile(folder: string, make: () => Promise<Uint8Array>): SnapshotFile {
  let known: Promise<string> | undefined

  async function find(): Promise<string> {
    const key = `${prefix}${await pyodideVersion()}-${hash('sha256', runnerSource + JSON.stringify(startOptions)).slice(0, 12)}-`
    const nameOf = (sum: string) => `${key}${sum}.snapshot`
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const names = (await readdir(folder)).filter((name) => name.startsWith(prefix))
    const found = names.find((name) => name.startsWith(key) && name.endsWith('.snapshot'))
    if (found && found === nameOf(await digest(path.join(folder, found)))) return path.join(folder, found)
    const bytes = await make()
    const target = path.join(folder, nameOf(hash('sha256', bytes)))
    const unfinished = `${target}.${randomUUID()}`
    await writeFile(unfinished, bytes, { mode: 0o600 })
    await rename(unfinished, target)
    for (const name of names) if (path.join(folder, name) !== target) await rm(path.join(folder, name), { force: true })
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

async function digest(file: string): Promise<string> {
  const sum = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) sum.update(chunk as Buffer)
  return sum.digest('hex')
}

async function pyodideVersion(): Promise<string> {
  const text = await readFile(fileURLToPath(import.meta.resolve('pyodide/package.json')), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version)
}
