import type { Artifact } from '../agent/messages.ts'
import type { GeneratedArtifact } from '../sessions/sessions.ts'

/** The files of a run or of a direct execution, in the order of creation. */
export interface KeptFiles {
  /** The folder of the bytes. */
  folder: string
  made: readonly Artifact[]
}

/** A file in an answer. The link is absent where the reader may not read files, and where no link could be made. */
export interface AnswerFile extends GeneratedArtifact {
  /** Valid without a key until `expires_at`. */
  download_url?: string
  /** ISO 8601, UTC. */
  expires_at?: string
}

/** Describes files in an answer. With `mayLink` each file gets a link that is signed now. Never rejects. */
export type ToAnswerFiles = (files: KeptFiles, mayLink: boolean) => Promise<AnswerFile[]>
