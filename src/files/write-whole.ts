import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'

/**
 * Writes a file, mode 0600, in place of what was there: a reader sees all of it or nothing. What can't be written to its end leaves nothing
 * behind, so that a disk without room is not filled by trying again.
 */
export async function writeWhole(file: string, content: string | Uint8Array, { flush = false } = {}): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  try {
    await writeFile(draft, content, { mode: 0o600, flush })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
