import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { AnswerStep } from '../../sessions/message.ts'
import { CommandFailure } from '../terminal.ts'

/** A chunk of a streamed answer, as defined by the HTTP interface. */
export interface Chunk {
  token: string
  agent_step: string
  /** The text `null` on every chunk but the last. */
  finish_reason: string
  /** Present on the last chunk of a step. */
  step?: AnswerStep
  /** Present on the last chunk of a failed run. */
  error?: { body: string }
  /** Present if calls wait for approval: no chunk follows until the calls are decided. */
  approval_required?: { request_id: string; calls: WaitingCall[] }
}

/** A tool call that is executed only after approval. */
export interface WaitingCall {
  tool_call_id: string
  tool: string
  tool_input: unknown
}

/** An entry of the list of approvals. `messages` has the last messages of the session if the key may decide the call. */
export interface ListedCall extends WaitingCall {
  request_id: string
  session_id: string
  requested_by: string
  may_decide: boolean
  messages?: { role: string; content: string }[]
}

export interface Decision {
  tool_call_id: string
  decision: 'approve' | 'reject'
  /** Input to execute instead of the input chosen by the model. */
  tool_input?: unknown
  reason?: string
}

export interface ListedTool {
  name: string
  description: string
  status: string
}

export interface Question {
  requestId: string
  sessionId: string
  text: string
}

/** Client of a service over HTTP. Failures are `CommandFailure`s with a readable message. */
export interface ServiceClient {
  /**
   * Streams the chunks of an answer to the last chunk, and resumes a broken stream after the last event received. After a chunk with
   * `approval_required` the caller decides the calls, or cancels the run, before asking for the next chunk.
   */
  ask(question: Question, signal: AbortSignal): AsyncGenerator<Chunk, void>
  /** Decides a waiting call; throws `ServiceRefusal` if the service rejects the decision. */
  decide(requestId: string, decision: Decision): Promise<void>
  /** Lists the calls waiting for approval, newest first. */
  waitingCalls(): Promise<ListedCall[]>
  /** Cancels a run. Cancelling an ended or unknown run has no effect. */
  cancel(requestId: string): Promise<void>
  tools(): Promise<ListedTool[]>
}

/** Error reply of the service, with its HTTP status. */
export class ServiceRefusal extends CommandFailure {
  readonly status: number

  constructor(status: number, words: string) {
    super(1, [words])
    this.status = status
  }
}

export interface ClientOptions {
  /** Base address without a trailing slash. */
  url: string
  key: string
  /** Milliseconds between attempts to resume a stream. */
  retryDelaysMs?: readonly number[]
}

/** A service cancels a run 5 s after its reader disconnected. A restarted service waits as long again. */
const defaultDelaysMs = [50, 200, 500, 1000, 1500, 2000, 2000, 2000]

export function createServiceClient({ url, key, retryDelaysMs = defaultDelaysMs }: ClientOptions): ServiceClient {
  async function send(path: string, init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {}): Promise<Response> {
    const reply = await fetch(`${url}/core/v1${path}`, { ...init, headers: { ...init.headers, 'x-service-access': key } })
    if (!reply.ok) throw await toRefusal(reply)
    return reply
  }

  function start({ requestId, sessionId, text }: Question, signal: AbortSignal): Promise<Response> {
    const headers = { 'content-type': 'application/json', 'request-id': requestId, 'session-id': sessionId }
    const body = JSON.stringify({ messages: [{ role: 'user', content: text }] })
    return send('/chain_streaming', { method: 'POST', headers, body, signal })
  }

  async function* ask(question: Question, signal: AbortSignal): AsyncGenerator<Chunk, void> {
    const path = `/runs/${question.requestId}/stream`
    let last = ''
    let failures = 0
    attempts: for (;;) {
      try {
        // The request id identifies the run, so a question without a first event is simply sent once more.
        const reply = await (last === '' ? start(question, signal) : send(path, { headers: { 'last-event-id': last }, signal }))
        for await (const { id, data } of toEvents(reply)) {
          const chunk = JSON.parse(data) as Chunk
          last = id ?? last
          failures = 0
          yield chunk
          if (chunk.finish_reason === 'approval_required') continue attempts
          if (chunk.finish_reason !== 'null') return
        }
      } catch (error) {
        if (error instanceof CommandFailure || signal.aborted) throw error
        if (last === '' && failures === 0 && codeOf(error) === 'ECONNREFUSED') throw unreachable(url, error)
      }
      const delay = retryDelaysMs[failures++]
      if (delay === undefined) throw new CommandFailure(1, [`The connection to ${url} broke, and reconnecting failed.`])
      await sleep(delay, undefined, { signal })
    }
  }

  /** Sends a request without retries; network failures become `CommandFailure`s. */
  async function sendOnce(path: string, init?: Parameters<typeof send>[1]): Promise<Response> {
    return send(path, init).catch((error: unknown) => {
      throw error instanceof CommandFailure ? error : unreachable(url, error)
    })
  }

  return {
    ask,
    async decide(requestId, decision) {
      const headers = { 'content-type': 'application/json' }
      await sendOnce(`/runs/${requestId}/approvals`, { method: 'POST', headers, body: JSON.stringify(decision) })
    },
    async waitingCalls() {
      const reply = await sendOnce('/approvals')
      return ((await reply.json()) as { approvals: ListedCall[] }).approvals
    },
    async cancel(requestId) {
      await send(`/runs/${requestId}`, { method: 'DELETE', signal: AbortSignal.timeout(5000) }).catch(() => undefined)
    },
    async tools() {
      const reply = await sendOnce('/tools')
      return ((await reply.json()) as { tools: ListedTool[] }).tools
    },
  }
}

/** A unique id for a session or a request. */
export function newId(): string {
  return randomUUID()
}

function toEvents({ body }: Response): AsyncIterable<{ id?: string | undefined; data: string }> {
  if (!body) throw new Error('no body')
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}

/** Converts an error reply: its text, or its status if the reply has no text. */
async function toRefusal(reply: Response): Promise<ServiceRefusal> {
  const errorBody = (await reply.json().catch(() => undefined)) as { body?: unknown; detail?: { msg?: unknown }[] } | undefined
  const faults = Array.isArray(errorBody?.detail) ? errorBody.detail.map(({ msg }) => String(msg)).join('; ') : undefined
  const words = typeof errorBody?.body === 'string' ? errorBody.body : (faults ?? `The service answered ${reply.status}.`)
  return new ServiceRefusal(reply.status, reply.status === 401 ? `${words} Pass a valid key with --key.` : words)
}

function unreachable(url: string, error: unknown): CommandFailure {
  const code = codeOf(error)
  return new CommandFailure(1, [`${url} cannot be reached${code === undefined ? '' : ` (${code})`}.`])
}

/** The system error code, which fetch puts in the cause. */
function codeOf(error: unknown): string | undefined {
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
