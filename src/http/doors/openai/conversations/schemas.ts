import { Type } from 'typebox'
import { Item, Metadata } from '../responses/request.ts'

/** Schemas of conversations. */

export const NewConversation = Type.Object({
  items: Type.Optional(Type.Union([Type.Array(Item, { maxItems: 20, description: 'The first messages.' }), Type.Null()])),
  metadata: Metadata,
})

export const MetadataBody = Type.Object({ metadata: Metadata })

export const ItemsBody = Type.Object({ items: Type.Array(Item, { minItems: 1, maxItems: 20 }) })

export const Conversation = Type.Object({
  id: Type.String({ description: '`conv_<session id>`' }),
  object: Type.Enum(['conversation']),
  created_at: Type.Integer({ description: 'Epoch seconds.' }),
  metadata: Type.Record(Type.String(), Type.String()),
})

export const DeletedConversation = Type.Object({
  id: Type.String(),
  object: Type.Enum(['conversation.deleted']),
  deleted: Type.Boolean(),
})
