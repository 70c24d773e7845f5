import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'

/**
 * Writes a file with mode 0600 atomically: a reader sees either the old or the complete new content. A failed write leaves no draft
 * behind, so that retries do not fill up a full disk.
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
