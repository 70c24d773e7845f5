import type { Principal } from '../../../access/permissions.ts'
import { invalid, ServiceError, type Fault } from '../../../errors.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import type { RequestedDecision } from '../../../runs/approvals/decisions.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { answerCalls, isOpen, wholeRun, type AnswerServices, type RunPart } from '../../../runs/parts.ts'
import type { LoggedEvent, RunKey } from '../../../runs/run.ts'
import type { RunStore, StoredRun } from '../../../runs/run-store.ts'
import type { DecidedCall } from '../../../runs/trace/span.ts'
import type { FastifyReply } from 'fastify'
import type { AnswerBody } from '../../../runs/log/outcome.ts'
import { followRun, outcomeOf, type Exchange, type Opening, type ReaderServices } from '../../reader.ts'
import { receivedBefore, sendRun, type RunStream } from '../../send-run.ts'
import { principalOf } from '../../server/authenticate.ts'
import { sendFailure } from '../../server/error-reply.ts'
import { isId, setSessionId } from '../../server/request-headers.ts'
import { openChat, type ChatServices, type ChatSource } from '../core/open-chat.ts'

export interface OutputServices extends AnswerServices {
  openCalls: Pick<ApprovalStore, 'clientCalls' | 'ofRun'>
  runStore: Pick<RunStore, 'find'>
}

/** The output of a call that the service, or another service, has requested. */
export interface ToolOutput {
  /** Id without the prefix of the protocol. */
  callId: string
  output: string
  /** True for an output that is the message of an error. */
  isError?: boolean
}

/** The run that the outputs of a request belong to, and the part that answers the request. */
export interface AnsweredRun {
  key: RunKey
  sessionId: string
  part: RunPart
}

export interface Outputs {
  outputs: readonly ToolOutput[]
  /** Location of the outputs in the request. */
  at: Fault['loc']
  /** The id of a call in the protocol. */
  toId(callId: string): string
  /** False where the outputs of the run are history for the route. Default: true. */
  accepts?(run: StoredRun): boolean
  /** Called before the first output is stored. `before`: the events up to the calls. */
  prepare?(run: StoredRun, before: readonly LoggedEvent[]): Promise<void>
}

/** Codes of refusals after which outputs count as history: the run does not wait for them any more, or has other outputs. */
const pastCodes = new Set(['already_decided', 'not_interrupted', 'not_found', 'gone'])

/**
 * Gives outputs to the caller's run that waits for them. The same outputs once more find the same run. Undefined if the outputs are history: of
 * another service, or of a run that has expired. Throws a validation error if a waiting call of the run has no output.
 */
export async function answerRun(
  services: OutputServices,
  principal: Principal,
  { outputs, at, toId, accepts, prepare }: Outputs,
): Promise<AnsweredRun | undefined> {
  const calls = await services.openCalls.clientCalls(
    principal,
    outputs.map(({ callId }) => callId),
  )
  const [first] = calls
  if (!first || calls.length < outputs.length || calls.some(({ requestId }) => requestId !== first.requestId)) return undefined
  const { tenant, owner, requestId } = first
  const key = { tenant, owner, requestId }
  try {
    const run = await services.runStore.find(key)
    if (!run || accepts?.(run) === false) return undefined
    const part = await answerCalls(services, {
      principal,
      run,
      toDecisions: (open) => {
        if (run.status === 'interrupted') refuseMissing(open, { outputs, at, toId })
        return outputs.map(toDecision)
      },
      prepare: async (before) => prepare?.(run, before),
    })
    return { key, sessionId: run.sessionId, part }
  } catch (error) {
    if (error instanceof ServiceError && pastCodes.has(error.code)) return undefined
    throw error
  }
}

function toDecision({ callId, output, isError }: ToolOutput): RequestedDecision {
  return isError ? { callId, decision: 'error', error: output } : { callId, decision: 'output', output }
}

/** Follows the run that the outputs of the request have resumed. */
export function openAnswered(services: ReaderServices, { request, reply }: Exchange, { key, sessionId }: AnsweredRun): Opening {
  setSessionId(request, reply, sessionId)
  if (!isId(request.headers['request-id'])) void reply.header('request-id', key.requestId)
  return { chat: followRun(services, { request, reply }, key) }
}

function refuseMissing(calls: readonly DecidedCall[], { outputs, at, toId }: Pick<Outputs, 'outputs' | 'at' | 'toId'>): void {
  const answered = new Set(outputs.map(({ callId }) => callId))
  const missing = calls.filter((call) => call.by === 'client' && isOpen(call) && !answered.has(call.callId))
  if (missing.length === 0) return
  throw invalid(at, `each tool call needs its output; missing: ${missing.map(({ callId }) => toId(callId)).join(', ')}`)
}

/** What a request gets an answer of: a run of its own, or the part behind an interruption of an earlier run. */
export interface AnswerHead {
  /** The request id of the run. */
  requestId: string
  part: RunPart
}

interface OpenAnswer {
  opening: Opening
  head: AnswerHead
}

/** A request with the whole conversation: it resumes the run whose calls its outputs answer, or gets a run of its own. */
export interface AskedAnswer extends Outputs {
  source: ChatSource
  stream: boolean
}

export async function openAnswer(services: ChatServices & OutputServices, exchange: Exchange, question: AskedAnswer): Promise<OpenAnswer> {
  const { request } = exchange
  const answered = question.outputs.length > 0 && (await answerRun(services, principalOf(request), question))
  if (answered)
    return { opening: openAnswered(services, exchange, answered), head: { requestId: answered.key.requestId, part: answered.part } }
  const operation = question.stream ? 'chain_streaming' : 'chain'
  return {
    opening: openChat(services, { ...exchange, operation, source: question.source }),
    head: { requestId: request.id, part: wholeRun },
  }
}

interface Forms {
  /** The answer as a stream; undefined for a JSON answer. */
  render: ((hasSchema: boolean) => RunStream) | undefined
  toJson(body: AnswerBody, run: OpenRun): object
}

/** Sends an answer as a stream or as JSON. A failed run is an error. */
export async function sendAnswer(reply: FastifyReply, opening: Opening, { part }: Pick<AnswerHead, 'part'>, { render, toJson }: Forms) {
  if (render) return sendRun(reply, opening, { ...receivedBefore(part), render })
  const chat = await opening.chat
  const { body, error } = await outcomeOf(chat)
  return error ? sendFailure(reply, error) : toJson(body, chat.run)
}
