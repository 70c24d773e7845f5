import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { accessTo, type Principal } from '../../../access/permissions.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { EventLog } from '../../../runs/log/event-log.ts'
import { errorOf } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import type { LastEvent } from '../../../runs/run.ts'
import { type Exchange, type OpenChat, outcomeOf } from '../../reader.ts'
import { ownRunKey, findReadable } from '../../named-runs.ts'
import { type LastReceived, nothingReceived, sendRun, toStream } from '../../send-run.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { doorRoute, prefix } from './errors.ts'
import { modesOf, RunBody, threadParams } from './input.ts'
import { toInterrupts } from './interrupts.ts'
import { type LangChainMessage, toHuman, toLangChainMessages } from './messages.ts'
import { frameEvent, LangGraphProjection, type StreamMode } from './projection.ts'
import { RunMessages } from './run-messages.ts'
import { acceptRun, openThreadRun, type RunServices, type ThreadRun } from './open-run.ts'
import { RunReply, toErrorData, toRun } from './state.ts'

/** Runs: chats in a thread, or in a session of their own. */
export const threadRunRoutes = [streamRoutes, waitRoutes, createRoute] as const

const starting = { access: accessTo.chat, startsRun: true as const, maxBodyBytes: Infinity }

const inThread = `A chat in the thread, as \`POST /core/v1/chain\`. With \`command.resume\`, the decisions on the calls that wait, whose run goes on under its own id. A run from a checkpoint that is not the last one goes on in a branch of the thread. 404: the caller has no such thread, unless \`if_not_exists\` is \`create\`.`
const withoutThread = 'A chat in a session of its own, of which nothing is kept, unless `on_completion` is `keep`.'

const question = { type: 'human', content: 'What were the total sales by region?' }
const examples = {
  question: {
    summary: 'A question',
    value: { assistant_id: 'agent', input: { messages: [question] }, stream_mode: ['values', 'messages-tuple'] },
  },
}

/** A stream of the door, in the OpenAPI document. */
export const streamReply = {
  200: {
    description:
      'Server-sent events: `metadata`, then an event named after the mode for each step (`messages` for `messages-tuple`), and `error` for a run that fails. The `id` is of the run and its event, for `last-event-id`.',
    content: { 'text/event-stream': { schema: Type.Unknown() } },
  },
}

/** The answer to a client that waits, in the OpenAPI document. */
export const ValuesReply = Type.Object({
  messages: Type.Array(Type.Record(Type.String(), Type.Unknown())),
  __interrupt__: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: 'What the run waits for.' })),
  __error__: Type.Optional(Type.Object({ error: Type.String(), message: Type.String() })),
})

function streamRoutes(app: App, services: RunServices): void {
  const streamed = async (exchange: Exchange, body: RunBody, threadId?: string) => {
    const modes = modesOf(body.stream_mode, ['body', 'stream_mode'])
    return sendThreadRun(services, exchange.reply, await openThreadRun(services, exchange, body, threadId), modes)
  }
  const response = streamReply
  app.post(
    `${prefix}/threads/:thread_id/runs/stream`,
    doorRoute(starting, {
      summary: 'Start a run in a thread and stream it',
      text: inThread,
      examples,
      params: threadParams,
      body: RunBody,
      response,
    }),
    (request, reply) => streamed({ request, reply }, request.body, request.params.thread_id),
  )
  app.post(
    `${prefix}/runs/stream`,
    doorRoute(starting, { summary: 'Start a run without a thread and stream it', text: withoutThread, examples, body: RunBody, response }),
    (request, reply) => streamed({ request, reply }, request.body),
  )
}

function waitRoutes(app: App, services: RunServices): void {
  const waited = async (exchange: Exchange, body: RunBody, threadId?: string) =>
    valuesOf(services, await openThreadRun(services, exchange, body, threadId), principalOf(exchange.request))
  const response = { 200: ValuesReply }
  app.post(
    `${prefix}/threads/:thread_id/runs/wait`,
    doorRoute(starting, {
      summary: 'Start a run in a thread and wait',
      text: inThread,
      examples,
      params: threadParams,
      body: RunBody,
      response,
    }),
    (request, reply) => waited({ request, reply }, request.body, request.params.thread_id),
  )
  app.post(
    `${prefix}/runs/wait`,
    doorRoute(starting, { summary: 'Start a run without a thread and wait', text: withoutThread, examples, body: RunBody, response }),
    (request, reply) => waited({ request, reply }, request.body),
  )
}

/** Background runs: accepted as asynchronous chats. */
function createRoute(app: App, services: RunServices): void {
  app.post(
    `${prefix}/threads/:thread_id/runs`,
    doorRoute(starting, {
      summary: 'Start a run in a thread in the background',
      text: inThread,
      examples,
      params: threadParams,
      body: RunBody,
      response: { 200: RunReply },
    }),
    async (request, reply) => {
      const { body, params } = request
      const runId = await acceptRun(services, { request, reply }, body, params.thread_id)
      return toRun(params.thread_id, await findReadable(services.runStore, ownRunKey(principalOf(request), runId)))
    },
  )
}

/** The messages of the session before the answers of the run. A run that has ended has its answer in the session. */
async function baseOf({ sessionStore }: RunServices, { run }: OpenChat, principal: Principal): Promise<LangChainMessage[]> {
  const session = await sessionStore.find(principal, run.sessionId, { anyOwner: false })
  const messages = session ? await sessionStore.messages(session.tenant, session.key) : []
  const answer = messages.findIndex(({ role, data }) => role === 'ai' && data?.requestId === run.requestId)
  const before = answer < 0 ? messages : messages.slice(0, answer)
  const base = toLangChainMessages(before)
  return before.some(({ role, content }) => role === 'human' && content === run.input)
    ? base
    : [...base, toHuman(`human:${1 + (before.at(-1)?.index ?? -1)}`, run.input)]
}

export async function sendThreadRun(
  services: RunServices,
  reply: FastifyReply,
  { chat: opening, threadId, requestId, received, isQuiet }: ThreadRun,
  modes: ReadonlySet<StreamMode>,
): Promise<FastifyReply> {
  const principal = principalOf(reply.request)
  const options = { threadId, requestId, modes, received, isQuiet }
  let projection = new LangGraphProjection({ ...options, base: [], log: new EventLog() })
  const prepare = async (): Promise<OpenChat> => {
    const opened = await opening
    const run = await whenPast(opened, received)
    const chat = { ...opened, run }
    projection = new LangGraphProjection({ ...options, base: await baseOf(services, chat, principal), log: run.log })
    return chat
  }
  // The projection takes the whole run, because the values have all messages, and passes on what the client has not received.
  const render = () => toStream(projection, frameEvent)
  return sendRun(reply, { chat: prepare() }, { ...nothingReceived, render, failsInStream: true })
}

/** The run, or, where it still waits after the client has decided its own calls, the run when others have decided the rest. */
async function whenPast({ run, disconnected }: OpenChat, { after, mark }: LastReceived): Promise<OpenRun> {
  const isDecided = mark === 'own' && after > 0 && after >= run.log.events.length
  return isDecided && run.whenResumed ? run.whenResumed(disconnected) : run
}

/** The state of a thread when the run has ended, or waits. */
export async function valuesOf(
  services: RunServices,
  { chat: opening, isQuiet }: ThreadRun,
  principal: Principal,
): Promise<Type.Static<typeof ValuesReply>> {
  const chat = await opening
  const base = await baseOf(services, chat, principal)
  const { end, body } = await outcomeOf(chat)
  return toOutcome(chat, base, isQuiet ? { ...end, type: 'end', reason: 'stop', error: undefined } : end, body.generated_artifacts)
}

function toOutcome({ run }: OpenChat, base: readonly LangChainMessage[], end: LastEvent, files: readonly AnswerFile[]) {
  const messages = new RunMessages(run.requestId, new Set(base.map(({ id }) => id)))
  for (const event of run.log.events.slice(0, run.log.events.length - 1)) messages.take(event)
  messages.last(end, files)
  const error = errorOf(end)
  return {
    messages: [...base, ...messages.messages],
    ...(end.type === 'interrupt' && { __interrupt__: toInterrupts(end.calls) }),
    ...(error && { __error__: toErrorData(error) }),
  } as unknown as Type.Static<typeof ValuesReply>
}
