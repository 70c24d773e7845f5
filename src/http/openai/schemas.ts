import { Type, type TSchema } from 'typebox'
import { completionExample, responseExample } from '../examples.ts'

/** Request schemas of the supported part of OpenAI's API. Unknown fields are ignored. */

const maxMessages = 2000

function maybe<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

/** A field that is ignored or refused, as its description says. */
const unsupported = (description: string) => Type.Optional(Type.Unknown({ description }))

function messageSchema(types: string[], image: TSchema, extraFields: Record<string, TSchema> = {}) {
  const Part = Type.Object({
    type: Type.Enum(types),
    text: maybe(Type.String()),
    refusal: maybe(Type.String()),
    image_url: maybe(image),
  })
  return Type.Object({
    ...extraFields,
    role: Type.Enum(['system', 'developer', 'user', 'assistant']),
    content: Type.Optional(Type.Union([Type.String(), Type.Array(Part, { maxItems: maxMessages }), Type.Null()])),
  })
}

/** A part of a message, in chat completions or responses. */
export interface InputPart {
  type: string
  text?: string | null
  refusal?: string | null
  image_url?: string | { url: string } | null
}

export interface InputMessage {
  role: 'system' | 'developer' | 'user' | 'assistant'
  content?: string | InputPart[] | null
}

const dataUrl = 'A data: URL; other URLs are refused with 400.'
const toolChoice = '`auto` and `none` leave the agent its own tools; other values are refused with 400.'
const ownTools = 'Refused with 400: the agent has its own tools.'

export const CompletionBody = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'The id of the agent, as listed by /v1/models.' }),
    messages: Type.Array(messageSchema(['text', 'image_url', 'refusal'], Type.Object({ url: Type.String({ description: dataUrl }) })), {
      minItems: 1,
      maxItems: maxMessages,
    }),
    stream: maybe(Type.Boolean()),
    stream_options: maybe(Type.Object({ include_usage: maybe(Type.Boolean()) })),
    tools: unsupported(ownTools),
    tool_choice: unsupported(toolChoice),
    store: unsupported('`true` is refused with 400.'),
    n: unsupported('A value other than 1 is refused with 400.'),
    response_format: maybe(Type.Object({ type: Type.String({ description: 'Types other than `text` are refused with 400.' }) })),
  },
  { description: 'Sampling parameters are ignored: the agent has its own.', example: completionExample },
)

export type CompletionBody = Type.Static<typeof CompletionBody>

const Item = messageSchema(['input_text', 'input_image', 'output_text', 'refusal'], Type.String({ description: dataUrl }), {
  type: Type.Optional(Type.Enum(['message'])),
})

export const ResponseBody = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'The id of the agent, as listed by /v1/models.' }),
    input: Type.Union([Type.String(), Type.Array(Item, { minItems: 1, maxItems: maxMessages })]),
    instructions: maybe(Type.String()),
    metadata: maybe(Type.Record(Type.String(), Type.String())),
    stream: maybe(Type.Boolean()),
    tools: unsupported(ownTools),
    tool_choice: unsupported(toolChoice),
    previous_response_id: unsupported('Refused with 400: use the header `session-id` to continue a conversation.'),
    store: unsupported('`true` is refused with 400.'),
    text: maybe(
      Type.Object({ format: maybe(Type.Object({ type: Type.String({ description: 'Types other than `text` are refused with 400.' }) })) }),
    ),
  },
  { description: 'Sampling parameters are ignored: the agent has its own.', example: responseExample },
)

export type ResponseBody = Type.Static<typeof ResponseBody>
