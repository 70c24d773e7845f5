import type { ErrorBody } from '../errors.ts'
import { collect, errorOf, type AnswerBody, type Outcome } from '../runs/log/outcome.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Artifacts } from '../artifacts/artifacts.ts'
import type { OpenRun } from '../runs/open-run.ts'
import type { RunKey } from '../runs/run.ts'
import type { Runs } from '../runs/runs.ts'
import { waitsForRun } from './server/server-timing.ts'
import { accessTo, permits } from '../access/permissions.ts'
import type { AnswerFile, KeptFiles } from '../artifacts/answer-files.ts'
import { principalOf } from './server/authenticate.ts'

/** Services of every route that follows runs. */
export interface ReaderServices {
  artifacts: Pick<Artifacts, 'toAnswerFiles'>
  runs: Pick<Runs, 'follow'>
}

/** A request and its reply. */
export interface Exchange {
  request: FastifyRequest
  reply: FastifyReply
}

/** The client of a request, as the reader of a run. */
export interface Reader {
  request: FastifyRequest
  /** Aborted when the client disconnects, or the request is cancelled. */
  disconnected: AbortSignal
}

/** A run that a client reads. */
export interface OpenChat {
  run: OpenRun
  /** Aborted when the client disconnects. */
  disconnected: AbortSignal
  toFiles: ToReaderFiles
}

/** A chat that is being opened. */
export interface Opening {
  chat: Promise<OpenChat>
  /** Resolves when the response header `session-id` is final; absent where the header is. */
  settled?: Promise<void>
}

/** Finds, starts or resumes a run for a reader. */
type OpenForReader = (disconnected: AbortSignal) => Promise<OpenRun>

/**
 * Opens a run for a reader; no other code does. The body may hold megabytes of images, and the run may take minutes: the request drops the body,
 * and its memory is free for other requests once the run is open.
 */
export async function openRun({ request, disconnected }: Reader, open: OpenForReader): Promise<OpenRun> {
  const opening = open(disconnected)
  request.body = undefined
  const run = await opening
  request.bodyReservation?.release()
  waitsForRun(request, run)
  if (run.remaining) request.remaining = () => run.remaining?.(principalOf(request))
  return run
}

/** Opens a run whose events or outcome are the reply to a request. */
export function openForReply(
  { artifacts }: Pick<ReaderServices, 'artifacts'>,
  { request, reply }: Exchange,
  open: OpenForReader,
): Promise<OpenChat> {
  const disconnected = disconnectSignal(reply)
  const toFiles = filesForReader(artifacts, request)
  return openRun({ request, disconnected }, open).then((run) => ({ run, disconnected, toFiles }))
}

/** Opens an existing run whose events or outcome are the reply to a request. */
export function followRun({ runs, artifacts }: ReaderServices, exchange: Exchange, key: RunKey): Promise<OpenChat> {
  return openForReply({ artifacts }, exchange, (disconnected) => runs.follow(key, disconnected))
}

/** Opens an existing run, whose ids the reply names in place of ids of its own. */
export async function followNamed(services: ReaderServices, exchange: Exchange, key: RunKey): Promise<OpenChat> {
  const open = await followRun(services, exchange, key)
  void exchange.reply.header('session-id', open.run.sessionId).header('request-id', open.run.requestId)
  return open
}

/** Shared abort reason: an abort without a reason creates an error with a stack each time. */
const clientDisconnected = new Error('The client has disconnected.')

/** A signal that is aborted when the response closes: after the answer, or when the client disconnects. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.on('close', () => controller.abort(clientDisconnected))
  return controller.signal
}

/** Waits for the last event of a run whose events nobody reads meanwhile, so that the run does not wait for a reader. */
export function waitForEnd({ log, ended }: OpenRun, disconnected: AbortSignal): Promise<void> {
  disconnected.addEventListener('abort', log.suspendBackpressure())
  return ended
}

/** The outcome of a run for its reader. */
interface ReaderOutcome extends Outcome {
  body: AnswerBody
  error: ErrorBody | undefined
}

/** Waits until a run has ended or waits for approval. */
export async function outcomeOf({ run, disconnected, toFiles }: OpenChat): Promise<ReaderOutcome> {
  await waitForEnd(run, disconnected)
  const outcome = collect(run.input, run.log.eventsAndFault)
  const { answer, end } = outcome
  const files = end.files ? await toFiles(end.files) : []
  return { ...outcome, body: { ...answer, generated_artifacts: files }, error: errorOf(end) }
}

/** Describes files for the reader of one answer; with links only if the reader's key has `artifacts.read`. */
export type ToReaderFiles = (files: KeptFiles) => Promise<AnswerFile[]>

/** The returned function captures the permission only: the request, whose body may be large, can be released while the run lasts. */
export function filesForReader({ toAnswerFiles }: Pick<Artifacts, 'toAnswerFiles'>, request: FastifyRequest): ToReaderFiles {
  const mayLink = permits(principalOf(request), accessTo.linkArtifact)
  return (files) => toAnswerFiles(files, mayLink)
}
