import { Type, type TSchema } from 'typebox'
import { ChatBody, Id } from '../../resources/schemas.ts'

/** The request of the AI SDK's `useChat`, as `DefaultChatTransport` sends it. Unknown fields are ignored. */

const maxMessages = 2000

function maybe<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

const Part = Type.Object({
  type: Type.String({ description: 'Texts and files of messages are read, and answers to tool calls; other parts are ignored.' }),
  text: maybe(Type.String()),
  url: maybe(Type.String({ description: 'The data: URL of a file.' })),
  filename: maybe(Type.String({ maxLength: 1000, description: 'The name of a file.' })),
  mediaType: maybe(Type.String()),
  toolCallId: maybe(Type.String()),
  state: maybe(Type.String()),
  output: Type.Optional(Type.Unknown({ description: 'The output of a tool that the page ran.' })),
  errorText: maybe(Type.String()),
  approval: maybe(
    Type.Object({ id: maybe(Type.String()), approved: maybe(Type.Boolean()), reason: maybe(Type.String({ maxLength: 4000 })) }),
  ),
})

const Message = Type.Object({
  id: Type.Optional(Type.Unknown({ description: 'The id that the page gave the message.' })),
  role: Type.Enum(['system', 'user', 'assistant']),
  parts: Type.Array(Part, { maxItems: maxMessages }),
})

export const UiChatBody = Type.Object(
  {
    id: Type.String({ ...Id, description: 'The chat: the id of the session.' }),
    messages: Type.Array(Message, {
      minItems: 1,
      maxItems: maxMessages,
      description:
        'The conversation: the question last, or the message whose tool calls the user has answered. The service has the earlier turns of its sessions, and reads them from there.',
    }),
    ...Type.Pick(ChatBody, ['data_filter_hints', 'auto_memory_retain', 'context_files', 'on_disconnect', 'response_schema', 'client_tools'])
      .properties,
  },
  { description: 'A chat of the AI SDK. Fields that are not listed are ignored.' },
)

export type UiChatBody = Type.Static<typeof UiChatBody>

export const UiMessageChunk = Type.Object(
  { type: Type.String({ description: 'The kind of the part, such as `text-delta`.' }) },
  { additionalProperties: true, description: 'A part of the UI message stream; `type` decides on the other fields.' },
)
