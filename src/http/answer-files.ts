import type { FastifyRequest } from 'fastify'
import { accessTo, permits } from '../access/permissions.ts'
import type { AnswerFile, KeptFiles } from '../artifacts/answer-files.ts'
import type { Artifacts } from '../artifacts/artifacts.ts'
import { principalOf } from './server/authenticate.ts'

/** Describes files for the reader of one answer; with links only if the reader's key has `artifacts.read`. */
export type ToReaderFiles = (files: KeptFiles) => Promise<AnswerFile[]>

/** Captures the permission only: the request, whose body may be large, can be released while the run lasts. */
export function filesForReader(artifacts: Pick<Artifacts, 'toAnswerFiles'>, request: FastifyRequest): ToReaderFiles {
  const mayLink = permits(principalOf(request), accessTo.linkArtifact)
  return createReaderFiles(artifacts, mayLink)
}

/** A function of its own, so that the closure does not keep the request alive. */
function createReaderFiles({ toAnswerFiles }: Pick<Artifacts, 'toAnswerFiles'>, mayLink: boolean): ToReaderFiles {
  return (files) => toAnswerFiles(files, mayLink)
}
