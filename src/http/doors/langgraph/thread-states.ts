import { Type } from 'typebox'
import type { Principal } from '../../../access/permissions.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { invalid, ServiceError } from '../../../errors.ts'
import type { Conversations } from '../../../sessions/conversations.ts'
import type { SessionMessage } from '../../../sessions/session-store.ts'
import { maybe, object } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { checkInputSize } from '../core/open-chat.ts'
import { findState, findThread, statesOf, type Thread, type ThreadServices } from './branches.ts'
import { doorRoute, notOffered } from './errors.ts'
import { Checkpoint, checkpointOf, Message, threadParams, toPageMessage } from './input.ts'
import { StateReply, toState } from './state.ts'
import { maxMessages, reading, unknown, url, writing } from './threads.ts'

interface Services extends ThreadServices {
  agent: CurrentAgent
  conversations: Pick<Conversations, 'append'>
}

const NewState = object('Messages for a thread without messages.', {
  values: maybe(Type.Object({ messages: maybe(Type.Array(Message, { maxItems: 1000 })) })),
  ...Checkpoint,
})

const limit = Type.Integer({ minimum: 1, maximum: 1000, default: 10 })
const HistoryQuery = Type.Object({ limit, before: Type.Optional(Type.String({ maxLength: 200 })) })

const HistoryBody = object('A page of the history.', {
  limit,
  before: maybe(Type.Union([Type.String({ maxLength: 200 }), Type.Object(Checkpoint)])),
})

/** The states of a thread: the messages up to each checkpoint. */
export const threadStateRoutes = [stateRoutes, fillRoute, historyRoutes] as const

const checkpointParams = Type.Object({ ...threadParams.properties, checkpoint_id: Type.String({ maxLength: 200 }) })

function stateRoutes(app: App, services: Services): void {
  const find = (principal: Principal, threadId: string) => findThread(services, principal, threadId)
  const stateAt = async (thread: Thread, checkpoint: string, part: 'path' | 'body') =>
    toState(thread.threadId, await findState(services, thread, checkpoint, [part, 'checkpoint_id']))

  app.get(
    `${url}/state`,
    doorRoute(reading, { summary: 'Get the state of a thread', text: unknown, params: threadParams, response: { 200: StateReply } }),
    async (request) => headOf(services, await find(principalOf(request), request.params.thread_id)),
  )
  app.get(
    `${url}/state/:checkpoint_id`,
    doorRoute(reading, {
      summary: 'Get the state of a thread at a checkpoint',
      text: `${unknown} An unknown checkpoint is 422.`,
      params: checkpointParams,
      response: { 200: StateReply },
    }),
    async (request) => stateAt(await find(principalOf(request), request.params.thread_id), request.params.checkpoint_id, 'path'),
  )
  app.post(
    `${url}/state/checkpoint`,
    doorRoute(reading, {
      summary: 'Get the state of a thread at a checkpoint that the body names',
      text: `${unknown} An unknown checkpoint is 422.`,
      examples: { first: { summary: 'Before the first message', value: { checkpoint: { checkpoint_id: '0' } } } },
      params: threadParams,
      body: object('A checkpoint.', Checkpoint),
      response: { 200: StateReply },
    }),
    async (request) => {
      const thread = await find(principalOf(request), request.params.thread_id)
      const checkpoint = checkpointOf(request.body)
      return checkpoint === undefined ? headOf(services, thread) : stateAt(thread, checkpoint, 'body')
    },
  )
}

async function headOf(services: Services, thread: Thread) {
  const [head] = await statesOf(services, thread)
  return toState(thread.threadId, head!)
}

function fillRoute(app: App, services: Services): void {
  app.post(
    `${url}/state`,
    doorRoute(writing, {
      summary: 'Bring messages to a thread',
      text: `Fills a thread that has no messages with questions and answers; calls and their results are left out. A thread that has messages is 409. ${unknown}`,
      examples: {
        messages: {
          summary: 'A question and an answer',
          value: { values: { messages: [...toExample('human', 'Call me Ada.'), ...toExample('ai', 'Hello Ada.')] } },
        },
      },
      params: threadParams,
      body: NewState,
      response: { 200: StateReply },
    }),
    async (request) => {
      const { agent, conversations } = services
      if (checkpointOf(request.body) !== undefined)
        throw notOffered(
          ['body', 'checkpoint'],
          'start a run from the checkpoint, or fork the session with POST /core/v1/sessions/{session_id}/fork',
        )
      const principal = principalOf(request)
      const { head, threadId } = await findThread(services, principal, request.params.thread_id)
      const messages = toBrought(request.body.values?.messages ?? [], request.id)
      if (messages.length === 0)
        throw invalid(['body', 'values', 'messages'], 'must have a message: a thread has no other state', 'missing')
      checkInputSize(
        agent,
        messages.map(({ content }) => ({ role: 'user', content })),
      )
      if ((await conversations.append(head, messages, { isFirst: true })) === undefined)
        throw new ServiceError('not_found', 'The thread was deleted.')
      return headOf(services, await findThread(services, principal, threadId))
    },
  )
}

function toExample(type: string, content: string): object[] {
  return [{ type, content }]
}

/** Questions and answers. Calls and their results stay behind, as do messages without text. */
function toBrought(sent: readonly Message[], requestId: string): SessionMessage[] {
  const at = ['body', 'values', 'messages']
  const pages = sent.flatMap((message, index) => {
    const page = toPageMessage(message, [...at, index])
    if (page && page.images.length + page.files.length > 0) throw notOffered([...at, index, 'content'], 'send images and files with a run')
    if (page?.role === 'system') throw notOffered([...at, index], '`system_prompt` in agent.yaml has the instructions')
    if (page?.content.includes('\u0000')) throw invalid([...at, index, 'content'], 'must not have NUL')
    return page && page.content !== '' ? [page] : []
  })
  return pages.map(({ role, content }, index) => ({
    role: role === 'user' ? 'human' : 'ai',
    content: content.toWellFormed(),
    createdAt: Date.now(),
    data: index === 0 ? { requestId } : undefined,
  }))
}

function historyRoutes(app: App, services: Services): void {
  const text = `The states of the thread, newest first: one for each message of the session, and one before the first. A run from a checkpoint that is not the last one makes a branch. Older states are left out where the answer would have more than 5,000 messages. ${unknown}`
  const response = { 200: Type.Array(StateReply) }
  const historyOf = async (principal: Principal, threadId: string, pageSize: number, before: string | undefined) => {
    const thread = await findThread(services, principal, threadId)
    const states = (await statesOf(services, thread)).filter(({ content }) => content.messages.length > 0)
    const first = before === undefined ? 0 : states.findIndex(({ id }) => id === before) + 1
    const page = before !== undefined && first === 0 ? [] : states.slice(first, first + pageSize)
    let messages = 0
    const pageStates = page.filter(({ count }, index) => (messages += count) <= maxMessages || index === 0)
    return pageStates.map((state) => toState(threadId, state))
  }

  app.get(
    `${url}/history`,
    doorRoute(reading, { summary: 'Get the history of a thread', text, params: threadParams, querystring: HistoryQuery, response }),
    async (request) => historyOf(principalOf(request), request.params.thread_id, request.query.limit, request.query.before),
  )
  app.post(
    `${url}/history`,
    doorRoute(reading, {
      summary: 'Get the history of a thread, with a body',
      text,
      examples: { page: { summary: 'The newest states', value: { limit: 2 } } },
      params: threadParams,
      body: HistoryBody,
      response,
    }),
    async (request) => {
      const { limit: pageSize, before } = request.body
      const checkpoint = typeof before === 'string' ? before : before ? checkpointOf(before) : undefined
      return historyOf(principalOf(request), request.params.thread_id, pageSize, checkpoint)
    },
  )
}
