import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeWhole } from '../../files/write-whole.ts'
import { runnerSource, startOptions } from './runner-source.ts'

const prefix = 'python-'
/** Age after which a draft counts as abandoned: writing a snapshot never takes so long. */
const abandonedMs = 600_000

/** The file name contains a hash of the inputs and a checksum of the content. */
export function createSnapshotFile(folder: string, make: () => Promise<Uint8Array>) {
  let pathPromise: Promise<string> | undefined

  async function find(): Promise<string> {
    const key = `${prefix}${await pyodideVersion()}-${hash('sha256', runnerSource + JSON.stringify(startOptions)).slice(0, 12)}-`
    const nameOf = (sum: string) => `${key}${sum}.snapshot`
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const names = (await readdir(folder)).filter((name) => name.startsWith(prefix))
    await removeAbandoned(folder, names)
    const candidate = names.find((name) => name.startsWith(key) && isWhole(name))
    if (candidate && candidate === nameOf(await digest(path.join(folder, candidate)))) return path.join(folder, candidate)
    const bytes = await make()
    const target = path.join(folder, nameOf(hash('sha256', bytes)))
    await writeWhole(target, bytes)
    for (const name of names.filter(isWhole)) if (path.join(folder, name) !== target) await rm(path.join(folder, name), { force: true })
    return target
  }

  return {
    /** Path of the snapshot. Makes the snapshot if the file is missing or its checksum is wrong. */
    path(): Promise<string> {
      pathPromise ??= find()
      pathPromise.catch(() => (pathPromise = undefined))
      return pathPromise
    },
    /** Deletes an unusable snapshot, so that the next call of `path` makes a new snapshot. */
    async discard(): Promise<void> {
      const file = await pathPromise?.catch(() => undefined)
      pathPromise = undefined
      if (file !== undefined) await rm(file, { force: true })
    },
  }
}

function isWhole(name: string): boolean {
  return name.endsWith('.snapshot')
}

/** Deletes drafts left behind by killed processes. */
async function removeAbandoned(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names.filter((file) => !isWhole(file))) {
    const file = path.join(folder, name)
    const stats = await stat(file).catch(() => undefined)
    if (stats && stats.mtimeMs < Date.now() - abandonedMs) await rm(file, { force: true })
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
