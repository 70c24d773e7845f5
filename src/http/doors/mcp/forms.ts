import type { ElicitRequestFormParams, ElicitRequestURLParams } from '@modelcontextprotocol/server'
import type { FastifyBaseLogger } from 'fastify'
import { callerKey } from '../../../access/owner.ts'
import { accessTo, permits, type Principal } from '../../../access/permissions.ts'
import { type PendingCall, isQuestionId } from '../../../agent/approval.ts'
import type { JsonObject } from '../../../agent/messages.ts'
import { ServiceError } from '../../../errors.ts'
import { fieldsOf, isObject } from '../../../json/shape.ts'
import type { Approvals } from '../../../runs/approvals/approvals.ts'
import { maxReasonCharacters, type RequestedDecision } from '../../../runs/approvals/decisions.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { isOpen } from '../../../runs/parts.ts'
import type { Runs } from '../../../runs/runs.ts'
import type { DecidedCall } from '../../../runs/trace/span.ts'
import { followRun, relatedTask, type McpCall } from './call.ts'

/** Most characters of a call's input in the message of its form. */
const maxInputCharacters = 4000

/** The address of the page that a server asks the user to visit; undefined for any other call. */
export function addressIn({ callId, input }: PendingCall): string | undefined {
  return isQuestionId(callId) && typeof input['url'] === 'string' ? input['url'] : undefined
}

/** The page for the user. Revision 2026-07-28 has no id of the elicitation. */
export function toPage({ callId, input }: PendingCall, url: string): ElicitRequestURLParams {
  const message = `The server ${String(input['server'])} asks to open ${url}: ${String(input['question'])}`
  return { mode: 'url', message, url, elicitationId: callId }
}

/** The form in which the user of a client decides a call, or answers the question of a server behind a tool. */
export function toForm({ callId, tool, input }: PendingCall): ElicitRequestFormParams {
  if (isQuestionId(callId) && isObject(input['answer_schema'])) return toQuestionForm(input)
  const text = JSON.stringify(input)
  const inputText = text.length > maxInputCharacters ? `${text.slice(0, maxInputCharacters).toWellFormed()} [cut]` : text
  return {
    mode: 'form',
    message: `The agent asks for approval to call ${tool} with ${inputText}`,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: { type: 'string', title: 'Decision', description: 'Whether the call may run.', enum: ['approve', 'reject'] },
        reason: {
          type: 'string',
          title: 'Reason',
          description: 'The reason of a rejection, which the agent reads.',
          maxLength: maxReasonCharacters,
        },
      },
      required: ['decision'],
    },
  }
}

/** The question as the server asked it. The schema came as that of a form. */
function toQuestionForm({ server, question, answer_schema: schema }: JsonObject): ElicitRequestFormParams {
  const requestedSchema = schema as ElicitRequestFormParams['requestedSchema']
  return { mode: 'form', message: `The server ${String(server)} asks: ${String(question)}`, requestedSchema }
}

/** The decision of an answered form. A declined form is a rejection. Undefined for a dismissed form and for one that cannot be read. */
export function toDecision(callId: string, answer: unknown): RequestedDecision | undefined {
  const { action, content } = fieldsOf(answer)
  if (action === 'decline') return { callId, decision: 'reject', input: undefined, reason: undefined }
  const { decision, reason } = fieldsOf(content)
  if (action === 'accept' && isQuestionId(callId)) {
    // A visit of a page is confirmed without content.
    const input = isObject(content) && Object.keys(content).length > 0 ? (content as JsonObject) : undefined
    return { callId, decision: 'approve', input, reason: undefined }
  }
  if (action !== 'accept' || (decision !== 'approve' && decision !== 'reject')) return undefined
  const reasonText = typeof reason === 'string' ? reason.slice(0, maxReasonCharacters).trim() : ''
  return { callId, decision, input: undefined, reason: reasonText || undefined }
}

/** The decisions of answers by the ids of their calls. Answers to calls that do not wait any more are ignored. */
export function decisionsIn(answers: Readonly<Record<string, unknown>>): (calls: readonly DecidedCall[]) => RequestedDecision[] {
  return (calls) =>
    calls.filter(isOpen).flatMap(({ callId }) => (Object.hasOwn(answers, callId) ? (toDecision(callId, answers[callId]) ?? []) : []))
}

/** Separates the parts of the id of a form. Ids of runs have no spaces. */
const formPrefix = 'approval'

/**
 * The message id of a form on a legacy stream. The id names the call, so that every process can take the answer, which the client sends as a
 * request of its own.
 */
export function toFormId(requestId: string, callId: string): string {
  return `${formPrefix} ${requestId} ${callId}`
}

/** The call that an answer with the given message id decides; undefined for an unrelated id. */
export function parseFormId(id: unknown): { requestId: string; callId: string } | undefined {
  if (typeof id !== 'string') return undefined
  const [prefix, requestId, ...rest] = id.split(' ')
  return prefix === formPrefix && requestId && rest.length > 0 ? { requestId, callId: rest.join(' ') } : undefined
}

/** Takes the answers of legacy clients to the forms that a stream has sent. Each answer is a request of its own, which may reach another process. */
export interface FormAnswers {
  /** Applies an answer. False for a message that is no answer to a form. */
  take(message: unknown, principal: Principal, log: FastifyBaseLogger): Promise<boolean>
  /** A signal that is aborted when the user dismisses one of the forms. `release` ends the wait. */
  waitFor(principal: Principal, requestId: string, callIds: readonly string[]): { dismissed: AbortSignal; release(): void }
}

export function createFormAnswers({ approvals }: { approvals: Pick<Approvals, 'decide'> }): FormAnswers {
  /** Streams of this process that wait for answers. */
  const waiting = new Map<string, AbortController>()
  const keyOf = (principal: Principal, formId: string) => `${callerKey(principal)}\n${formId}`

  return {
    async take(message, principal, log) {
      const { id, method, result } = fieldsOf(message)
      const form = method === undefined ? parseFormId(id) : undefined
      if (!form) return false
      const decision = toDecision(form.callId, result)
      if (!decision || !permits(principal, accessTo.decideCall)) {
        waiting.get(keyOf(principal, String(id)))?.abort()
        return true
      }
      // A response has no response: who cannot decide any more learns so from the answer of the run.
      await approvals.decide(principal, form.requestId, decision).catch((error: unknown) => {
        log.debug({ err: error }, 'an answered form decided nothing')
        // An answer that does not fit counts as a dismissed form: the stream must not wait for another answer.
        if (error instanceof ServiceError && error.code === 'validation') waiting.get(keyOf(principal, String(id)))?.abort()
      })
      return true
    },

    waitFor(principal, requestId, callIds) {
      const controller = new AbortController()
      const keys = callIds.map((callId) => keyOf(principal, toFormId(requestId, callId)))
      for (const key of keys) waiting.set(key, controller)
      const release = () => {
        for (const key of keys) if (waiting.get(key) === controller) waiting.delete(key)
      }
      return { dismissed: controller.signal, release }
    },
  }
}

interface FormServices {
  runs: Pick<Runs, 'follow'>
  forms: Pick<FormAnswers, 'waitFor'>
}

interface WaitingRun {
  run: OpenRun
  pending: readonly PendingCall[]
}

/**
 * Puts the pending calls to the user of a legacy client, as requests on the stream, and waits until the run is resumed, by the answers or
 * elsewhere. Undefined if the user dismisses a form or the client disconnects: the run goes on waiting.
 */
export async function decideByForms(services: FormServices, call: McpCall, { run, pending }: WaitingRun): Promise<OpenRun | undefined> {
  const { principal } = call.caller
  const { dismissed, release } = services.forms.waitFor(
    principal,
    run.requestId,
    pending.map(({ callId }) => callId),
  )
  const stopped = AbortSignal.any([call.disconnected, dismissed])
  try {
    for (const waiting of pending) {
      const id = toFormId(run.requestId, waiting.callId)
      const url = addressIn(waiting)
      const params = url === undefined ? toForm(waiting) : toPage(waiting, url)
      const meta = call.isTask ? { _meta: relatedTask(run.requestId) } : {}
      await call.send({ jsonrpc: '2.0', id, method: 'elicitation/create', params: { ...params, ...meta } })
    }
    // The stored run can be opened only after the process has released the interrupted run.
    await run.ended
    const interrupted = await followRun(services, call, run.requestId)
    return interrupted.whenResumed ? await interrupted.whenResumed(stopped) : interrupted
  } catch (error) {
    if (stopped.aborted) return undefined
    throw error
  } finally {
    release()
  }
}
