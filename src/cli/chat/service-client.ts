import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import type { AnswerStep } from '../../sessions/message.ts'
import { CommandFailure } from '../terminal.ts'

/** One chunk of a streamed answer, as the interface defines it. */
export interface Chunk {
  token: string
  agent_step: string
  /** The text `null` on every chunk but the last. */
  finish_reason: string
  /** On the end of a step. */
  step?: AnswerStep
  /** On the last chunk of a run that failed. */
  error?: { body: string }
  /** Where calls wait for approval: the last chunk until they are decided. */
  approval_required?: { request_id: string; calls: WaitingCall[] }
}

/** A call that is made when somebody approves of it. */
export interface WaitingCall {
  tool_call_id: string
  tool: string
  tool_input: unknown
}

/** A call of the list of approvals; `messages`, the last of the session, where the key permits to decide the call. */
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
  /** Approved in place of what the model asked for. */
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

/** A service, reached over HTTP. Failures are `CommandFailure`s in words. */
export interface ServiceClient {
  /**
   * The chunks of an answer, to its last one; a stream that breaks is taken up again where it broke. One whose calls wait for approval goes
   * on behind that chunk: whoever takes the next has had them decided, or cancelled the run.
   */
  ask(question: Question, signal: AbortSignal): AsyncGenerator<Chunk, void>
  /** Decides a call that waits; what the service does not want is a `ServiceRefusal`. */
  decide(requestId: string, decision: Decision): Promise<void>
  /** Calls that wait for approval, newest first. */
  waitingCalls(): Promise<ListedCall[]>
  /** Ends a run; one that has ended, or never began, stays as it is. */
  cancel(requestId: string): Promise<void>
  tools(): Promise<ListedTool[]>
}

/** What the service answered to a request that it refused. */
export class ServiceRefusal extends CommandFailure {
  readonly status: number

  constructor(status: number, words: string) {
    super(1, [words])
    this.status = status
  }
}

export interface ClientOptions {
  /** Without a slash at the end. */
  url: string
  key: string
  /** Waits between attempts to take up a stream, in milliseconds. */
  retryDelaysMs?: readonly number[]
}

/** A service lets a run go 5 s after its reader left; one that starts anew waits as long again. */
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
        // The same request id again is the same run: before its first event a question is simply put once more.
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
      if (delay === undefined) throw new CommandFailure(1, [`The connection to ${url} broke, and could not be made again.`])
      await sleep(delay, undefined, { signal })
    }
  }

  /** A failure that is no refusal is told in words too. */
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

/** An id that no other has, for a session or a request. */
export function newId(): string {
  return randomUUID()
}

function toEvents({ body }: Response): AsyncIterable<{ id?: string | undefined; data: string }> {
  if (!body) throw new Error('no body')
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}

/** What a service says, or what its status means where it says nothing. */
async function toRefusal(reply: Response): Promise<ServiceRefusal> {
  const said = (await reply.json().catch(() => undefined)) as { body?: unknown; detail?: { msg?: unknown }[] } | undefined
  const faults = Array.isArray(said?.detail) ? said.detail.map(({ msg }) => String(msg)).join('; ') : undefined
  const words = typeof said?.body === 'string' ? said.body : (faults ?? `The service answered ${reply.status}.`)
  return new ServiceRefusal(reply.status, reply.status === 401 ? `${words} Give a key that is valid here with --key.` : words)
}

function unreachable(url: string, error: unknown): CommandFailure {
  const code = codeOf(error)
  return new CommandFailure(1, [`${url} can't be reached${code === undefined ? '' : ` (${code})`}.`])
}

/** fetch hides what went wrong in the cause. */
function codeOf(error: unknown): string | undefined {
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}
