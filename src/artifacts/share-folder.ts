import type { Readable } from 'node:stream'

/** Port: the folder where artifacts are copied for other programs. */
export interface ShareFolder {
  /**
   * Copies to `<folder>/<name>/<fileName>`; an existing `name` gets the suffix `-<uuid>`. Returns the path of the copy.
   */
  copy(name: string, fileName: string, read: () => Readable): Promise<string>
}
