import type { FilesRoot, FoundFile } from '../../files/root.ts'
import { toRelative } from '../files/file-access.ts'

/** A file found on disk. */
export interface FileOnDisk extends FoundFile {
  /** Path relative to the files root with links resolved. */
  target: string
}

/** The files which match any glob. Files removed during the scan are left out. */
export async function findFilesOnDisk(files: FilesRoot, globs: readonly string[]): Promise<FileOnDisk[]> {
  return (await files.find(globs)).map((found) => ({ ...found, target: toRelative(files, found.absolute) }))
}

export function isSameFile(a: Omit<FileOnDisk, 'absolute'> | undefined, b: FileOnDisk): boolean {
  return a?.mtimeMs === b.mtimeMs && a.size === b.size && a.target === b.target
}
