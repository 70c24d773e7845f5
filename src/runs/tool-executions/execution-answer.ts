import { accessTo, permits } from '../../access/operations.ts'
import type { Principal } from '../../access/principal.ts'
import type { Artifact, KeepArtifact, ReturnedFile } from '../../agent/artifact.ts'
import { toGeneratedArtifact, type GeneratedArtifact } from '../../sessions/sessions.ts'
import type { ExecutionResult } from './execution-store.ts'

/** Port: files that tools make in direct executions. The files are kept for a day and belong to no session. */
export interface ExecutionFiles {
  /** The folder is created with its first file. */
  open(): { folder: string; keep: KeepArtifact }
  /** A URL that serves the file for a short time. */
  link(folder: string, artifact: Artifact): Promise<string>
  /** The bytes of a kept file; undefined where the file was removed. */
  read(folder: string, artifact: Artifact): Promise<Uint8Array | undefined>
}

export interface Executed {
  sessionId: string
  result: ExecutionAnswer
  /** Files that are part of what the tool returned. */
  returned: readonly ReturnedContent[]
}

/** A file that a tool returned, with a URL that serves the file for a short time. */
export interface ReturnedContent extends ReturnedFile {
  link: string
  read(): Promise<Uint8Array | undefined>
}

/** The answer of `tool/execute`. */
export interface ExecutionAnswer extends Omit<ExecutionResult, 'files'> {
  /** `download_url` is absent where the caller's key lacks the permission for links to files. */
  generated_artifacts?: (GeneratedArtifact & { download_url?: string })[]
}

/** The answer for one caller. Every answer gets new links: the links of the first answer may have expired when the request is repeated. */
export async function toAnswer(
  principal: Principal,
  { sessionId, result }: { sessionId: string; result: ExecutionResult },
  files: Pick<ExecutionFiles, 'link' | 'read'>,
): Promise<Executed> {
  const { files: keptFiles, ...answer } = result
  if (!keptFiles) return { sessionId, result: answer, returned: [] }
  const mayLink = permits(principal, accessTo.linkArtifact)
  const links = mayLink ? await linksOf(keptFiles, files) : new Map<string, string>()
  const artifacts = keptFiles.made.map((artifact) => {
    const url = links.get(artifact.id)
    return { ...toGeneratedArtifact(artifact), ...(url !== undefined && { download_url: url }) }
  })
  const returnedFiles = mayLink ? (keptFiles.returned ?? []) : []
  const returned = returnedFiles.map((file): ReturnedContent => {
    const { artifact } = file
    return { ...file, link: links.get(artifact.id) ?? '', read: () => files.read(keptFiles.folder, artifact) }
  })
  return { sessionId, result: { ...answer, generated_artifacts: artifacts }, returned }
}

async function linksOf(
  { folder, made }: NonNullable<ExecutionResult['files']>,
  files: Pick<ExecutionFiles, 'link'>,
): Promise<Map<string, string>> {
  return new Map(
    await Promise.all(made.map(async (artifact): Promise<[string, string]> => [artifact.id, await files.link(folder, artifact)])),
  )
}
