import { route, maybe } from '../../schemas/shared.ts'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { ServiceError } from '../../../errors.ts'
import type { Conversations, Metadata } from '../../../sessions/conversations.ts'
import type { SessionChanges } from '../../../sessions/session-changes.ts'
import type { SessionRecord, SessionStore } from '../../../sessions/session-store.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { indexOfItem, toAddedMessages, toConversationItems, toPage } from './item-lists.ts'
import { toConversationId } from './ids.ts'
import { openAiRefusals } from './replies.ts'
import { findConversation } from './responses/place.ts'
import { InputItem, Item, ItemList, Metadata as MetadataField } from './responses/schemas.ts'
import { ItemQuery } from './responses/routes.ts'
import { openAiErrors } from './errors.ts'

const conversationId = { conversation_id: 'conv_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a71' }
const unknownConversation = '404: the caller has no such conversation.'
const page = { limit: 20, order: 'asc', after: 'msg_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a70~1_0' }

interface ConversationServices {
  agent: CurrentAgent
  conversations: Conversations
  sessionStore: Pick<SessionStore, 'find' | 'messages'>
  changes: Pick<SessionChanges, 'remove' | 'removeMessage'>
}

const NewConversation = Type.Object({
  items: maybe(Type.Array(InputItem, { maxItems: 20, description: 'The first messages.' })),
  metadata: MetadataField,
})

const MetadataBody = Type.Object({ metadata: MetadataField })

const ItemsBody = Type.Object({ items: Type.Array(InputItem, { minItems: 1, maxItems: 20 }) })

const Conversation = Type.Object({
  id: Type.String({ description: '`conv_<session id>`' }),
  object: Type.Enum(['conversation']),
  created_at: Type.Integer({ description: 'Epoch seconds.' }),
  metadata: Type.Record(Type.String(), Type.String()),
})

const DeletedConversation = Type.Object({
  id: Type.String(),
  object: Type.Enum(['conversation.deleted']),
  deleted: Type.Boolean(),
})

const tag = 'OpenAI'
const params = Type.Object({ conversation_id: Type.String({ maxLength: 200, description: '`conv_<session id>`' }) })
const itemParams = Type.Object({
  ...params.properties,
  item_id: Type.String({ maxLength: 300, description: '`msg_<session id>~<index>`' }),
})
const refusals = openAiRefusals(400, 401, 403, 404, 409, 413, 415, 429, 500, 503)

/** A request that names a conversation. */
type ConversationRequest = FastifyRequest<{ Params: { conversation_id: string } }>

/** Conversations: the caller's sessions in the form of OpenAI's API. */
export const conversationRoutes = [
  createRoute,
  readRoute,
  metadataRoute,
  deleteRoute,
  listItemsRoute,
  addItemsRoute,
  readItemRoute,
  deleteItemRoute,
] as const

function find({ sessionStore }: ConversationServices, request: ConversationRequest): Promise<SessionRecord> {
  return findConversation(sessionStore, principalOf(request), request.params.conversation_id)
}

function createRoute(app: App, { agent, conversations }: ConversationServices): void {
  app.post(
    '/v1/conversations',
    route({ access: 'sessions.write', errorShape: openAiErrors }, tag, {
      summary: 'Create a conversation',
      text: 'Creates a session, empty or with messages, for `conversation` of responses. `metadata` is kept with it. The session is also at `GET /core/v1/sessions`, once it has a message.',
      examples: {
        empty: { summary: 'An empty conversation', value: { metadata: { topic: 'sales' } } },
        messages: {
          summary: 'With messages',
          value: {
            items: [
              { type: 'message', role: 'user', content: 'Call me Ada.' },
              { type: 'message', role: 'assistant', content: 'Hello Ada.' },
            ],
          },
        },
      },
      body: NewConversation,
      response: { 200: Conversation, ...refusals },
    }),
    async (request) => {
      const { items, metadata } = request.body
      const content = {
        metadata: metadata ?? {},
        messages: toAddedMessages(items ?? [], { isFirst: true, requestId: request.id, agent }),
      }
      return toConversation(await conversations.create(principalOf(request), content), content.metadata)
    },
  )
}

function readRoute(app: App, services: ConversationServices): void {
  app.get(
    '/v1/conversations/:conversation_id',
    route({ access: 'sessions.read', errorShape: openAiErrors }, tag, {
      summary: 'Get a conversation',
      text: `The conversation with its metadata. Every session of the caller is a conversation, also one of another route.

${unknownConversation}`,
      parameters: conversationId,
      params,
      response: { 200: Conversation, ...refusals },
    }),
    async (request) => {
      const session = await find(services, request)
      return toConversation(session, await services.conversations.metadata(session))
    },
  )
}

function metadataRoute(app: App, services: ConversationServices): void {
  app.post(
    '/v1/conversations/:conversation_id',
    route({ access: 'sessions.write', errorShape: openAiErrors }, tag, {
      summary: 'Set the metadata of a conversation',
      text: `Replaces the metadata.

${unknownConversation}`,
      parameters: conversationId,
      examples: { metadata: { summary: 'New metadata', value: { metadata: { topic: 'units' } } } },
      params,
      body: MetadataBody,
      response: { 200: Conversation, ...refusals },
    }),
    async (request) => {
      const session = await find(services, request)
      const metadata = request.body.metadata ?? {}
      if (!(await services.conversations.setMetadata(session, metadata))) throw deleted(session)
      return toConversation(session, metadata)
    },
  )
}

function deleteRoute(app: App, services: ConversationServices): void {
  app.delete(
    '/v1/conversations/:conversation_id',
    route({ access: 'sessions.write', errorShape: openAiErrors }, tag, {
      summary: 'Delete a conversation with its responses',
      text: `Cancels the runs of the session, and deletes all of its data, responses included.

${unknownConversation}`,
      parameters: conversationId,
      params,
      response: { 200: DeletedConversation, ...refusals },
    }),
    async (request) => {
      const { sessionId } = await find(services, request)
      await services.changes.remove(principalOf(request), sessionId)
      return { id: toConversationId(sessionId), object: 'conversation.deleted', deleted: true }
    },
  )
}

async function itemsOf(services: ConversationServices, request: ConversationRequest) {
  const session = await find(services, request)
  return toConversationItems(session.sessionId, await services.sessionStore.messages(session.tenant, session.key))
}

function listItemsRoute(app: App, services: ConversationServices): void {
  app.get(
    '/v1/conversations/:conversation_id/items',
    route({ access: 'sessions.read', errorShape: openAiErrors }, tag, {
      summary: 'List the messages of a conversation',
      text: `The messages, newest first. Tool calls are part of their turn and not listed.

${unknownConversation}`,
      parameters: { ...conversationId, ...page },
      params,
      querystring: ItemQuery,
      response: { 200: ItemList, ...refusals },
    }),
    async (request) => {
      return toPage(await itemsOf(services, request), request.query)
    },
  )
}

function addItemsRoute(app: App, services: ConversationServices): void {
  app.post(
    '/v1/conversations/:conversation_id/items',
    route({ access: 'sessions.write', errorShape: openAiErrors }, tag, {
      summary: 'Add messages to a conversation',
      text: `Adds messages without asking the agent. A \`function_call\` with its output becomes part of the assistant message behind it. System messages are accepted at the start of a conversation.

${unknownConversation} 409: a response of the conversation is in progress.`,
      parameters: conversationId,
      examples: {
        message: {
          summary: 'A message',
          value: { items: [{ type: 'message', role: 'user', content: 'I work in the North region.' }] },
        },
      },
      params,
      body: ItemsBody,
      response: { 200: ItemList, ...refusals },
    }),
    async (request) => {
      const session = await find(services, request)
      const { items } = request.body
      const messages = toAddedMessages(items, {
        isFirst: session.messageCount === 0,
        requestId: request.id,
        agent: services.agent,
      })
      const first = await services.conversations.append(session, messages)
      if (first === undefined) throw deleted(session)
      const placed = messages.map((message, index) => ({ ...message, index: first + index }))
      return toPage(toConversationItems(session.sessionId, placed), { limit: messages.length, order: 'asc' })
    },
  )
}

function readItemRoute(app: App, services: ConversationServices): void {
  app.get(
    '/v1/conversations/:conversation_id/items/:item_id',
    route({ access: 'sessions.read', errorShape: openAiErrors }, tag, {
      summary: 'Get a message of a conversation',
      text: `A message of a conversation.

${unknownConversation} The same holds for an unknown item.`,
      parameters: { ...conversationId, item_id: 'msg_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a71~0' },
      params: itemParams,
      response: { 200: Item, ...refusals },
    }),
    async (request) => {
      const { item_id: id } = request.params
      const item = (await itemsOf(services, request)).find((candidate) => candidate.id === id)
      if (!item) throw noItem(id)
      return item
    },
  )
}

function deleteItemRoute(app: App, services: ConversationServices): void {
  app.delete(
    '/v1/conversations/:conversation_id/items/:item_id',
    route({ access: 'sessions.write', errorShape: openAiErrors }, tag, {
      summary: 'Delete a message of a conversation',
      text: `Deletes a message with its images and files, the responses that it is a question or an answer of, and memories whose last source they were. Tool calls and their outputs belong to the answer and go with it. The other messages keep their ids. Answers with the conversation.

${unknownConversation} The same holds for an unknown item. 409: a response of the conversation is in progress.`,
      parameters: { ...conversationId, item_id: 'msg_0198f0a4-6a1e-7c3b-9f52-2d4c6b8e1a71~0' },
      params: itemParams,
      response: { 200: Conversation, ...refusals },
    }),
    async (request) => {
      const session = await find(services, request)
      const { item_id: id } = request.params
      const index = indexOfItem(session.sessionId, id)
      if (index === undefined) throw noItem(id)
      await services.changes.removeMessage(principalOf(request), session.sessionId, index).catch((error: unknown) => {
        throw error instanceof ServiceError && error.code === 'not_found' ? noItem(id) : error
      })
      return toConversation(session, await services.conversations.metadata(session))
    },
  )
}

function toConversation({ sessionId, createdAt }: SessionRecord, metadata: Metadata): Static<typeof Conversation> {
  return { id: toConversationId(sessionId), object: 'conversation', created_at: Math.floor(createdAt / 1000), metadata }
}

function noItem(id: string): ServiceError {
  return new ServiceError('not_found', `There is no item ${id}.`)
}

function deleted({ sessionId }: SessionRecord): ServiceError {
  return new ServiceError('not_found', `There is no conversation ${toConversationId(sessionId)}.`)
}
