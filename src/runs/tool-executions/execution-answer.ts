import { accessTo, permits, type Principal } from '../../access/permissions.ts'
import type { Artifact, KeepArtifact, ReturnedFile } from '../../agent/artifact.ts'
import type { AnswerFile, ToAnswerFiles } from '../../artifacts/answer-files.ts'
import type { ExecutionResult } from './execution-store.ts'

/** Port: files that tools make in direct executions. The files are kept for a day and belong to no session. */
export interface ExecutionFiles {
  /** The folder is created with its first file. */
  open(): { folder: string; keep: KeepArtifact }
  toAnswerFiles: ToAnswerFiles
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
  generated_artifacts?: AnswerFile[]
}

/** The answer for one caller. Every answer gets new links: the links of the first answer may have expired when the request is repeated. */
export async function toAnswer(
  principal: Principal,
  { sessionId, result }: { sessionId: string; result: ExecutionResult },
  { toAnswerFiles, read }: Pick<ExecutionFiles, 'toAnswerFiles' | 'read'>,
): Promise<Executed> {
  const { files: keptFiles, ...answer } = result
  if (!keptFiles) return { sessionId, result: answer, returned: [] }
  const files = await toAnswerFiles(keptFiles, permits(principal, accessTo.linkArtifact))
  const links = new Map(files.map((file) => [file.artifact_id, file.download_url]))
  const returned = (keptFiles.returned ?? []).flatMap((file): ReturnedContent[] => {
    const link = links.get(file.artifact.id)
    return link === undefined ? [] : [{ ...file, link, read: () => read(keptFiles.folder, file.artifact) }]
  })
  return { sessionId, result: { ...answer, generated_artifacts: files }, returned }
}
