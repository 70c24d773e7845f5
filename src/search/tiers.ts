import path from 'node:path'
import { createMutex } from '../concurrency/mutex.ts'
import type { DiskProcess } from './disk/disk-tier.ts'
import { openIndexFolder, type IndexFolder } from './index-folder.ts'
import { createMemoryTier, type MemoryTier } from './memory-tier.ts'
import type { OpenOptions } from './retriever.ts'
import type { Tier } from './tier.ts'

/** Opens the tiers of retrievers: passages are in memory, and move to disk when they become many. */
export interface Tiers {
  open(name: string, options?: OpenOptions): Promise<Tier>
  close(): Promise<void>
}

export interface TiersOptions {
  /** Folder of the indexes on disk; undefined: everything stays in memory. */
  folder: string | undefined
  /** Passages of a retriever that stay in memory. */
  maxInMemory: number
  now(): number
}

/** Documents that are moved at a time. */
const moveSize = 50

export function createTiers({ folder, maxInMemory, now }: TiersOptions): Tiers {
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
    const documents = [...memory.documents()]
    for (let at = 0; at < documents.length; at += moveSize) await tier.put(...documents.slice(at, at + moveSize))
    return tier
  }

  async function open(name: string, { isTransient = false }: OpenOptions = {}): Promise<Tier> {
    const indexes = folder === undefined || isTransient ? undefined : await openFolder(folder)
    let memory: MemoryTier | undefined
    let current: Tier = indexes && (await indexes.exists(name)) ? await onDisk(indexes.fileOf(name)) : (memory = createMemoryTier())
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
    async close() {
      await disk?.close()
    },
  }
}
