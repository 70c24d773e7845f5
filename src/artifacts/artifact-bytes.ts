import type { Readable } from 'node:stream'

/**
 * The location of a file: the folder of a session (by key) or of a direct execution, and the artifact's id. Both names
 * are internal.
 */
export interface ArtifactLocation {
  folder: string
  id: string
}

/** The bytes of a file, whole or as they arrive. */
export type FileBytes = Uint8Array | AsyncIterable<Uint8Array>

/** Port: the store of artifact bytes. Writes are atomic: a file is there whole, or not at all. */
export interface ArtifactBytes {
  /**
   * Durable when resolved. Of an iterable only a part is in memory at a time; when the iterable throws, nothing is stored and `put` rejects
   * with its error.
   */
  put(location: ArtifactLocation, bytes: FileBytes): Promise<void>
  /** Opens a file; undefined when there is none. The caller reads or closes the file. */
  open(location: ArtifactLocation): Promise<OpenArtifact | undefined>
  has(location: ArtifactLocation): Promise<boolean>
  /** Copies all files of a folder to another folder. */
  copyAll(source: string, target: string): Promise<void>
  deleteAll(folder: string): Promise<void>
  /** Lists folders one by one; a folder may be deleted during the listing. */
  folders(): AsyncIterable<ArtifactFolder>
  /**
   * Removes incomplete files of dead processes from before `before` (epoch milliseconds); absent when the store leaves
   * none.
   */
  dropDrafts?(before: number): Promise<void>
  /** A URL of the store itself that serves the file for `seconds`; absent when the service serves files. */
  link?(location: ArtifactLocation, file: LinkedFile, seconds: number): Promise<string>
}

export interface OpenArtifact {
  /** Bytes. */
  size: number
  /**
   * Reads from byte `start` to byte `end`, both included; default: the whole file. Closes the file at the end and when
   * the stream is destroyed.
   */
  read(range?: { start: number; end: number }): Readable
  close(): Promise<void>
}

export interface ArtifactFolder {
  name: string
  /** Time of the last new file, epoch milliseconds. */
  changedAt: number
}

/** Name and type of a downloaded file. */
export interface LinkedFile {
  name: string
  /** MIME type. */
  type: string
}
