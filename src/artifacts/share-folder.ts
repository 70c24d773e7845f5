import type { Readable } from 'node:stream'

/** Port: the place where artifacts are copied to for other programs. */
export interface ShareFolder {
  /** Copies to `<folder>/<name>/<fileName>`, `name` with `-<uuid>` behind it where it exists. Answers with the copy's path. */
  copy(name: string, fileName: string, read: () => Readable): Promise<string>
}
