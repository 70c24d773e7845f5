import { createHash } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { createMutex } from '../concurrency/mutex.ts'
import type { DiskProcess } from './disk/disk-tier.ts'
import { MemoryTier } from './memory-tier.ts'
import type { OpenOptions, Tier } from './retriever.ts'

export interface TiersOptions {
  /** Folder of the indexes on disk; undefined: everything stays in memory. */
  folder: string | undefined
  /** Passages of a retriever that stay in memory. */
  maxInMemory: number
  now(): number
}

/** Documents that are moved at a time. */
const moveSize = 50

/** Opens the tiers of retrievers: passages are in memory, and move to disk when they become many. */
export function createTiers({ folder, maxInMemory, now }: TiersOptions) {
  let opening: Promise<IndexFolder> | undefined
  let disk: DiskProcess | undefined

  const openFolder = (root: string) => (opening ??= openIndexFolder(path.join(root, 'search'), now))

  async function onDisk(file: string): Promise<Tier> {
    // Imported on demand: most services have few documents.
    const { createDiskProcess, openDiskTier } = await import('./disk/disk-tier.ts')
    disk ??= createDiskProcess()
    return openDiskTier(file, disk)
  }

  /** Copies the documents to a new index on disk. */
  async function move(memory: MemoryTier, name: string, indexes: IndexFolder): Promise<Tier> {
    await indexes.remove(name)
    const tier = await onDisk(indexes.fileOf(name))
    const documents = memory.documents()
    for (let at = 0; at < documents.length; at += moveSize) await tier.put(...documents.slice(at, at + moveSize))
    return tier
  }

  async function open(name: string, { isTransient = false }: OpenOptions = {}): Promise<Tier> {
    const indexes = folder === undefined || isTransient ? undefined : await openFolder(folder)
    let memory: MemoryTier | undefined
    let current: Tier = indexes && (await indexes.exists(name)) ? await onDisk(indexes.fileOf(name)) : (memory = new MemoryTier())
    /** Changes wait while the passages move. */
    const changes = createMutex()

    async function moveIfLarge(): Promise<void> {
      if (!indexes || !memory || memory.counts(undefined).passages <= maxInMemory) return
      current = await move(memory, name, indexes)
      memory = undefined
    }

    return {
      put: (...documents) =>
        changes.run(async () => {
          const hashes = await current.put(...documents)
          await moveIfLarge()
          return hashes
        }),
      remove: (ids) => changes.run(() => current.remove(ids)),
      versions: () => current.versions(),
      search: (query, options) => current.search(query, options),
      missing: (encoder, limit) => current.missing(encoder, limit),
      setVectors: (encoder, vectors) => current.setVectors(encoder, vectors),
      counts: (encoder) => current.counts(encoder),
      close: () => current.close(),
    }
  }

  return {
    open,
    async close(): Promise<void> {
      await disk?.close()
    },
  }
}

export type Tiers = ReturnType<typeof createTiers>

/** The files of the indexes on disk. */
interface IndexFolder {
  /** Path of the index with this name. */
  fileOf(name: string): string
  exists(name: string): Promise<boolean>
  remove(name: string): Promise<void>
}

const suffixes = ['', '-wal', '-shm']
const unusedMs = 30 * 86_400_000

/** Opens the folder. Indexes that were not opened for 30 days are removed: their tools are gone. */
async function openIndexFolder(folder: string, now: () => number): Promise<IndexFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.db'))) {
    const stats = await stat(path.join(folder, file)).catch(() => undefined)
    if (stats && now() - stats.mtimeMs > unusedMs) await removeFile(path.join(folder, file))
  }
  const fileOf = (name: string) => path.join(folder, `${createHash('sha256').update(name).digest('hex').slice(0, 24)}.db`)
  return {
    fileOf,
    exists: async (name) => (await stat(fileOf(name)).catch(() => undefined)) !== undefined,
    remove: (name) => removeFile(fileOf(name)),
  }
}

async function removeFile(file: string): Promise<void> {
  for (const suffix of suffixes) await rm(`${file}${suffix}`, { force: true })
}
