import type { Owner } from '../access/owner.ts'
import type { Artifact } from '../agent/artifact.ts'

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
