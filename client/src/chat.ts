import { answerCalls, withTools, type ClientTools } from './client-tools.ts'
import { AgentCoreError } from './error.ts'
import { newId } from './ids.ts'
import type { CallOptions, Reply, RequestOptions, Schema } from './operation.ts'
import { repeat, withDefaults, type RetryOptions } from './retry.ts'
import { resumeRun } from './stream/resume-run.ts'
import { createRunStream, type RunStream, type StreamOptions } from './stream/run-stream.ts'
import type { Transport } from './transport.ts'

/** A chat. The last of its `messages` is the question. A message to a run that goes on is sent with `runs.steer`. */
export type ChatRequest = Omit<Schema<'ChatRequest'>, 'on_busy'> & { on_busy?: 'queue' | 'reject' | 'cancel_running' | null }

/** The answer of a chat with the ids of run and session. If calls wait for approval, the answer is incomplete. */
export type ChatAnswer = Reply<'POST', '/core/v1/chain'> & { request_id: string; session_id: string }

interface ChatIds {
  /** Names the run: the same chat with the same id runs once. Default: a new id. */
  requestId?: string | undefined
  /** The conversation that the chat belongs to. Default: `session_id` of the request, else a new conversation. */
  sessionId?: string | undefined
}

export interface ChatOptions extends ChatIds, CallOptions, RetryOptions {}

interface ToolOptions {
  /** Tools of this program, in addition to those of the agent. Their calls are run here, and the chat goes on by itself. */
  tools?: ClientTools | undefined
}

export interface ChatStreamOptions extends ChatIds, StreamOptions, ToolOptions {
  /** Headers of the chat, such as `stix-...` headers for the tools. */
  headers?: CallOptions['headers']
}

/** Receiver of the result of an asynchronous chat, and the identity of the event that starts the chat. */
export interface Callback {
  /** The address that receives the result. Without an address, the result is read from the run. */
  url?: string | undefined
  /** The sender of the event; default `agent-core-client`. */
  source?: string | undefined
  /** The id of the event: the same id of the same source is accepted once. Default: a new id. */
  eventId?: string | undefined
}

type AsyncData = RequestOptions<'POST', '/core/v1/chain_async'>['body']['data']
export type AsyncRequest = Omit<AsyncData, 'callback_url'>
/** The acknowledgement of an asynchronous chat. */
export type Accepted = Exclude<Reply<'POST', '/core/v1/chain_async'>, readonly unknown[]>

export interface Chat {
  /**
   * Asks a question and waits for the whole answer. While the service is busy, restarts or cannot be reached, the chat is sent again with
   * the same request id, so that nothing runs twice. If calls need approval, the answer has `approval_required`: decide the calls with
   * `approvals.decide`, then send the same chat with the same request id.
   */
  chat(request: ChatRequest, options?: ChatOptions & ToolOptions): Promise<ChatAnswer>
  /**
   * Asks a question and yields the answer chunk by chunk. A broken or silent connection is replaced, and the stream resumes after the
   * last chunk. The last chunk has a `finish_reason` other than `"null"`. The last chunk of a failed run has `error`.
   */
  stream(request: ChatRequest, options?: ChatStreamOptions): RunStream
  /** Starts a chat without waiting. The service stores the result as a run, and sends the result to the callback (see `verifyCallback`). */
  async(request: AsyncRequest, callback?: Callback, options?: ChatOptions): Promise<Accepted>
}

export function createChat(transport: Transport, defaults: RetryOptions): Chat {
  return {
    async chat(request, options = {}) {
      const ids = toHeaders(options, request)
      const { tools, signal } = options
      const sent = { body: withTools(request, tools), headers: { ...options.headers, ...ids }, signal }
      const send = () => repeat(() => transport.exchange('POST', '/core/v1/chain', sent), withDefaults(options, defaults), signal)
      let reply = await send()
      for (let calls = callsIn(reply.body); tools && calls; calls = callsIn(reply.body)) {
        const waiting = calls
        await repeat(() => answerCalls(transport, waiting, tools, signal), withDefaults(options, defaults), signal)
        reply = await send()
      }
      const { body, headers } = reply
      return { ...body, request_id: ids['request-id'], session_id: headers.get('session-id') ?? ids['session-id'] ?? '' }
    },

    stream(request, options = {}) {
      const ids = toHeaders(options, request)
      const headers = { ...options.headers, ...ids }
      const requestId = ids['request-id']
      const { tools } = options
      const body = withTools(request, tools)
      const source = {
        requestId,
        sessionId: ids['session-id'],
        after: '0',
        start: (signal: AbortSignal) => transport.send('POST', '/core/v1/chain_streaming', { body, headers, signal }),
        resume: (after: string, signal: AbortSignal) => resumeRun(transport, { requestId, after, signal }),
      }
      const answer = tools && ((calls: Schema<'ClientToolCalls'>) => answerCalls(transport, calls, tools, options.signal))
      return createRunStream({ ...source, ...(answer ? { answer } : {}) }, withDefaults(options, defaults))
    },

    async async(request, { url, source = 'agent-core-client', eventId = newId() } = {}, options = {}) {
      const data = url === undefined ? request : { ...request, callback_url: url }
      const body = { specversion: '1.0', type: 'ai.service.agent.chain', source, id: eventId, data } as const
      const headers = { ...options.headers, ...toHeaders(options, request) }
      const send = () => transport.request('POST', '/core/v1/chain_async', { body, headers, signal: options.signal })
      const accepted = await repeat(send, withDefaults(options, defaults), options.signal)
      if (!Array.isArray(accepted)) return accepted
      throw new AgentCoreError('The reply acknowledges no event.', { status: 200, errorType: 'InvalidReply' })
    },
  }
}

/** The calls that the client runs; undefined for none. */
function callsIn(body: Reply<'POST', '/core/v1/chain'>): Schema<'ClientToolCalls'> | undefined {
  return 'client_tool_calls' in body ? body.client_tool_calls : undefined
}

/** A repeated request id belongs to the session of its first request, which only the service knows. */
function toHeaders({ requestId, sessionId }: ChatIds, { session_id: ownId }: { session_id?: string | null }) {
  const newSession = requestId === undefined ? newId() : undefined
  return { 'request-id': requestId ?? newId(), 'session-id': sessionId ?? ownId ?? newSession }
}
