import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { ServiceError } from '../../../errors.ts'
import type { Conversations, Metadata } from '../../../sessions/conversations.ts'
import type { SessionChanges } from '../../../sessions/session-changes.ts'
import type { SessionRecord, SessionStore } from '../../../sessions/session-store.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { toAddedMessages, toConversationItems, toPage } from './item-lists.ts'
import { toConversationId } from './ids.ts'
import { openAiRefusals } from './replies.ts'
import { findConversation } from './responses/place.ts'
import { InputItem, Item, ItemList, Metadata as MetadataField } from './responses/schemas.ts'
import { ItemQuery } from './responses/routes.ts'

export interface ConversationServices {
  agent: CurrentAgent
  conversations: Conversations
  sessionStore: Pick<SessionStore, 'find' | 'messages'>
  changes: Pick<SessionChanges, 'remove'>
}

const NewConversation = Type.Object({
  items: Type.Optional(Type.Union([Type.Array(InputItem, { maxItems: 20, description: 'The first messages.' }), Type.Null()])),
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

const tags = ['OpenAI']
const params = Type.Object({ conversation_id: Type.String({ maxLength: 200, description: '`conv_<session id>`' }) })
const itemParams = Type.Object({
  ...params.properties,
  item_id: Type.String({ maxLength: 300, description: '`msg_<session id>~<index>`' }),
})
const refusals = openAiRefusals(400, 401, 403, 404, 409, 413, 415, 429, 500, 503)

/** A request that names a conversation. */
type ConversationRequest = FastifyRequest<{ Params: { conversation_id: string } }>
type FindConversation = (request: ConversationRequest) => Promise<SessionRecord>

/** Conversations: the caller's sessions in the form of OpenAI's API. */
export function conversationRoutes(app: App, services: ConversationServices): void {
  const { agent, conversations, sessionStore, changes } = services

  const find: FindConversation = (request) => findConversation(sessionStore, principalOf(request), request.params.conversation_id)

  app.post(
    '/v1/conversations',
    {
      config: { access: 'sessions.write', errorShape: 'openai' },
      schema: { tags, summary: 'Create a conversation', body: NewConversation, response: { 200: Conversation, ...refusals } },
    },
    async (request) => {
      const { items, metadata } = request.body
      const content = {
        metadata: metadata ?? {},
        messages: toAddedMessages(items ?? [], { isFirst: true, requestId: request.id, agent }),
      }
      return toConversation(await conversations.create(principalOf(request), content), content.metadata)
    },
  )

  app.get(
    '/v1/conversations/:conversation_id',
    {
      config: { access: 'sessions.read', errorShape: 'openai' },
      schema: { tags, summary: 'Get a conversation', params, response: { 200: Conversation, ...refusals } },
    },
    async (request) => {
      const session = await find(request)
      return toConversation(session, await conversations.metadata(session))
    },
  )

  app.post(
    '/v1/conversations/:conversation_id',
    {
      config: { access: 'sessions.write', errorShape: 'openai' },
      schema: {
        tags,
        summary: 'Set the metadata of a conversation',
        params,
        body: MetadataBody,
        response: { 200: Conversation, ...refusals },
      },
    },
    async (request) => {
      const session = await find(request)
      const metadata = request.body.metadata ?? {}
      if (!(await conversations.setMetadata(session, metadata))) throw deleted(session)
      return toConversation(session, metadata)
    },
  )

  app.delete(
    '/v1/conversations/:conversation_id',
    {
      config: { access: 'sessions.write', errorShape: 'openai' },
      schema: {
        tags,
        summary: 'Delete a conversation with its responses',
        params,
        response: { 200: DeletedConversation, ...refusals },
      },
    },
    async (request) => {
      const { sessionId } = await find(request)
      await changes.remove(principalOf(request), sessionId)
      return { id: toConversationId(sessionId), object: 'conversation.deleted', deleted: true }
    },
  )

  itemRoutes(app, services, find)
}

function itemRoutes(app: App, { agent, conversations, sessionStore }: ConversationServices, find: FindConversation): void {
  async function itemsOf(request: ConversationRequest) {
    const session = await find(request)
    return toConversationItems(session.sessionId, await sessionStore.messages(session.tenant, session.key))
  }

  app.get(
    '/v1/conversations/:conversation_id/items',
    {
      config: { access: 'sessions.read', errorShape: 'openai' },
      schema: {
        tags,
        summary: 'List the messages of a conversation',
        params,
        querystring: ItemQuery,
        response: { 200: ItemList, ...refusals },
      },
    },
    async (request) => {
      return toPage(await itemsOf(request), request.query)
    },
  )

  app.post(
    '/v1/conversations/:conversation_id/items',
    {
      config: { access: 'sessions.write', errorShape: 'openai' },
      schema: { tags, summary: 'Add messages to a conversation', params, body: ItemsBody, response: { 200: ItemList, ...refusals } },
    },
    async (request) => {
      const session = await find(request)
      const { items } = request.body
      const messages = toAddedMessages(items, {
        isFirst: session.messageCount === 0,
        requestId: request.id,
        agent,
      })
      const first = await conversations.append(session, messages)
      if (first === undefined) throw deleted(session)
      return toPage(toConversationItems(session.sessionId, messages, first), { limit: messages.length, order: 'asc' })
    },
  )

  app.get(
    '/v1/conversations/:conversation_id/items/:item_id',
    {
      config: { access: 'sessions.read', errorShape: 'openai' },
      schema: { tags, summary: 'Get a message of a conversation', params: itemParams, response: { 200: Item, ...refusals } },
    },
    async (request) => {
      const { item_id: id } = request.params
      const item = (await itemsOf(request)).find((candidate) => candidate.id === id)
      if (!item) throw new ServiceError('not_found', `There is no item ${id}.`)
      return item
    },
  )
}

function toConversation({ sessionId, createdAt }: SessionRecord, metadata: Metadata): Static<typeof Conversation> {
  return { id: toConversationId(sessionId), object: 'conversation', created_at: Math.floor(createdAt / 1000), metadata }
}

function deleted({ sessionId }: SessionRecord): ServiceError {
  return new ServiceError('not_found', `There is no conversation ${toConversationId(sessionId)}.`)
}
