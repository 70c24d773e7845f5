import { ServiceError } from '../errors.ts'
import type { Owner } from '../access/owner.ts'
import type { Artifact } from '../agent/messages.ts'
import type { Readable } from 'node:stream'

/** Port: the files of the messages of one tenant, without their bytes. Rows are written and removed with the messages. */
export interface ArtifactStore {
  /** The caller's own files, newest first, after `before` when given. */
  list(caller: Owner, page: ArtifactPage): Promise<StoredArtifact[]>
  /** Finds the caller's own file; with `anyOwner` otherwise the file of another caller of the tenant. */
  find(caller: Owner, id: string, options: { anyOwner: boolean }): Promise<StoredArtifact | undefined>
}

export interface ArtifactPage {
  limit: number
  before: ArtifactPosition | undefined
}

/** A position in the list of files. A fork has the files of its source under the same ids. */
export interface ArtifactPosition {
  id: string
  sessionId: string
}

/** A file with its origin. */
export interface StoredArtifact extends Artifact {
  /** Internal key of the session: the folder of the bytes. */
  session: string
  sessionId: string
  /** The run that made the file. */
  requestId: string
}

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
  /** Deletes a file, if there is one. */
  delete(location: ArtifactLocation): Promise<void>
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

/** Port: the folder where artifacts are copied for other programs. */
export interface ShareFolder {
  /**
   * Copies to `<folder>/<name>/<fileName>`; an existing `name` gets the suffix `-<uuid>`. Returns the path of the copy.
   */
  copy(name: string, fileName: string, read: () => Readable): Promise<string>
}

/** Waits for an operation of the artifact store. */
export type Reach = <T>(operation: Promise<T>) => Promise<T>

/** Seconds: a store that is down may be back then. */
const retryAfter = 10

/** Maps an error of the artifact store to a temporary `artifacts_unavailable`. The fault of a caller, in bytes that arrive, stays as it is. */
export function createReach(onFault: (error: unknown) => void): Reach {
  return (operation) =>
    operation.catch((cause: unknown) => {
      if (cause instanceof ServiceError) throw cause
      onFault(cause)
      throw new ServiceError('artifacts_unavailable', 'Files cannot be reached at the moment.', { cause, retryAfter })
    })
}
