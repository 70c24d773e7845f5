import { createHash } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'

/** The files of the indexes on disk. */
export interface IndexFolder {
  /** Path of the index with this name. */
  fileOf(name: string): string
  exists(name: string): Promise<boolean>
  remove(name: string): Promise<void>
}

const suffixes = ['', '-wal', '-shm']
const unusedMs = 30 * 86_400_000

/** Opens the folder. Indexes that were not opened for 30 days are removed: their tools are gone. */
export async function openIndexFolder(folder: string, now: () => number): Promise<IndexFolder> {
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
