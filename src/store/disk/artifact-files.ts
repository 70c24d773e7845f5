import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, lstat, mkdir, open, opendir, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import type { ArtifactBytes, ArtifactLocation, FileBytes, OpenArtifact } from '../../artifacts/artifact-store.ts'

/** `ArtifactBytes` as files `<root>/<folder>/<id>` with mode 0600, in folders with mode 0700. Drafts are in a separate folder. */
export function createArtifactFiles(root: string): ArtifactBytes {
  const folderOf = (name: string) => path.join(root, requireSafeName(name))
  const fileOf = ({ folder, id }: ArtifactLocation) => path.join(folderOf(folder), requireSafeName(id))
  const drafts = path.join(root, draftFolder)

  async function makeFolder(folder: string): Promise<void> {
    const createdFolder = await mkdir(folder, { recursive: true, mode: 0o700 })
    if (createdFolder !== undefined) await syncFolder(path.dirname(folder))
  }

  return {
    async put(location, bytes) {
      const file = fileOf(location)
      const folder = path.dirname(file)
      await makeFolder(folder)
      await makeFolder(drafts)
      const draft = path.join(drafts, randomUUID())
      try {
        await writeDurably(draft, bytes)
        await rename(draft, file)
        await syncFolder(folder)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },
    async open(location) {
      const handle = await orMissing(open(fileOf(location), constants.O_RDONLY | constants.O_NOFOLLOW))
      return handle && toOpen(handle)
    },
    has: async (location) => (await orMissing(lstat(fileOf(location))))?.isFile() ?? false,

    async copyAll(source, target) {
      const names = (await orMissing(readdir(folderOf(source)))) ?? []
      const files = names.filter((name) => !name.startsWith('.'))
      if (files.length === 0) return
      await makeFolder(folderOf(target))
      for (const id of files) await copy(fileOf({ folder: source, id }), fileOf({ folder: target, id }))
      await syncFolder(folderOf(target))
    },

    async dropDrafts(before) {
      for (const name of (await orMissing(readdir(drafts))) ?? []) {
        const file = path.join(drafts, name)
        const changedAt = (await orMissing(lstat(file)))?.mtimeMs
        if (changedAt !== undefined && changedAt < before) await rm(file, { force: true })
      }
    },

    deleteAll: async (folder) => rm(folderOf(folder), { recursive: true, force: true, maxRetries: 3 }),
    delete: async (location) => rm(fileOf(location), { force: true }),

    async *folders() {
      const listing = await orMissing(opendir(root))
      for await (const { name } of listing ?? []) {
        const changedAt = isSafeName(name) ? (await orMissing(stat(folderOf(name))))?.mtimeMs : undefined
        if (changedAt !== undefined) yield { name, changedAt }
      }
    },
  }
}

/** Begins with a dot, unlike any folder of a session. */
const draftFolder = '.drafts'

async function toOpen(handle: FileHandle): Promise<OpenArtifact> {
  const { size } = await handle.stat()
  return {
    size,
    read: (range) => handle.createReadStream({ ...range, autoClose: true }),
    // Node rejects a second close, which is harmless.
    close: () => handle.close().catch(() => undefined),
  }
}

async function writeDurably(file: string, bytes: FileBytes): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Syncs a folder: a new name survives a crash only when its folder is on the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Links the file, because its bytes never change; copies when the file system has no hard links. */
async function copy(source: string, target: string): Promise<void> {
  try {
    await link(source, target)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // The target exists already, or the source was deleted meanwhile.
    if (code === 'EEXIST' || code === 'ENOENT') return
    await copyFile(source, target, constants.COPYFILE_EXCL)
  }
}

async function orMissing<T>(operation: Promise<T>): Promise<T | undefined> {
  return operation.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** Folder names and ids come from this service, but return in URLs, so each is checked before it becomes a path or a key. */
const safe = /^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/

export function isSafeName(name: string): boolean {
  return safe.test(name)
}

/** Returns the name. Throws when the name is not a safe folder name or id. */
export function requireSafeName(name: string): string {
  if (!isSafeName(name)) throw new Error(`"${name}" is not a valid folder name or id of an artifact.`)
  return name
}
