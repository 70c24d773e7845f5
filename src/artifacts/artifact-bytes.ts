import type { Readable } from 'node:stream'

/** Where a file's bytes are: in a folder for each session (its key) or direct execution, under the artifact's id. Both are ours. */
export interface ArtifactLocation {
  folder: string
  id: string
}

/** Port: where the bytes of artifacts are kept. Nothing is ever seen half: a file is there whole, or not at all. */
export interface ArtifactBytes {
  /** Durable when it resolves. */
  put(location: ArtifactLocation, bytes: Uint8Array): Promise<void>
  /** Undefined where there is none. Whoever opens it reads it or closes it. */
  open(location: ArtifactLocation): Promise<OpenArtifact | undefined>
  has(location: ArtifactLocation): Promise<boolean>
  /** Gives all files of one folder to another too. */
  copyAll(from: string, to: string): Promise<void>
  deleteAll(folder: string): Promise<void>
  /** One after another, as many as there are; a folder may be deleted while it is listed. */
  folders(): AsyncIterable<ArtifactFolder>
  /** Removes what a process that died had not written whole before then (epoch milliseconds); absent where nothing of it is left. */
  dropDrafts?(before: number): Promise<void>
  /** An address of the store's own that hands out the file for `seconds`; absent where the service does that itself. */
  link?(location: ArtifactLocation, file: LinkedFile, seconds: number): Promise<string>
}

export interface OpenArtifact {
  /** Bytes. */
  size: number
  /** From byte `start` to byte `end`, both included; all of it by default. Closes the file at its end, and when it is destroyed. */
  read(range?: { start: number; end: number }): Readable
  close(): Promise<void>
}

export interface ArtifactFolder {
  name: string
  /** When a file came in last, epoch milliseconds. */
  changedAt: number
}

/** How a file that is downloaded is called, and what it is. */
export interface LinkedFile {
  name: string
  /** MIME type. */
  type: string
}
