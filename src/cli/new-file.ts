import { writeFile } from 'node:fs/promises'

/** Writes a new file; false if the file already exists. */
export async function writeNew(file: string, content: string | Uint8Array, mode = 0o666): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: 'wx', mode })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
