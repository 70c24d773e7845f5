import { Type, type TSchema } from 'typebox'
import { completionExample, responseExample } from '../examples.ts'

/** Shapes of OpenAI's interface, as far as this service speaks it. Fields that are not listed are ignored. */

const maxMessages = 2000

function maybe<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]))
}

/** What a client sends that has no effect, or is refused, as the description says. */
const other = (description: string) => Type.Optional(Type.Unknown({ description }))

function messageOf(types: string[], image: TSchema, more: Record<string, TSchema> = {}) {
  const Part = Type.Object({
    type: Type.Enum(types),
    text: maybe(Type.String()),
    refusal: maybe(Type.String()),
    image_url: maybe(image),
  })
  return Type.Object({
    ...more,
    role: Type.Enum(['system', 'developer', 'user', 'assistant']),
    content: Type.Optional(Type.Union([Type.String(), Type.Array(Part, { maxItems: maxMessages }), Type.Null()])),
  })
}

/** A part of a message, of either interface. */
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

const dataUrl = 'A data: URL; other addresses are a 400.'
const toolChoice = '`auto` and `none` leave the agent its own tools; any other is a 400.'
const notTaken = 'The agent has its own; a 400.'

export const CompletionBody = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'An id of the agent, as /v1/models has it.' }),
    messages: Type.Array(messageOf(['text', 'image_url', 'refusal'], Type.Object({ url: Type.String({ description: dataUrl }) })), {
      minItems: 1,
      maxItems: maxMessages,
    }),
    stream: maybe(Type.Boolean()),
    stream_options: maybe(Type.Object({ include_usage: maybe(Type.Boolean()) })),
    tools: other(notTaken),
    tool_choice: other(toolChoice),
    store: other('`true` is a 400.'),
    n: other('More than 1 is a 400.'),
    response_format: maybe(Type.Object({ type: Type.String({ description: 'Another than `text` is a 400.' }) })),
  },
  { description: 'Sampling parameters are ignored: the agent has its own.', example: completionExample },
)

export type CompletionBody = Type.Static<typeof CompletionBody>

const Item = messageOf(['input_text', 'input_image', 'output_text', 'refusal'], Type.String({ description: dataUrl }), {
  type: Type.Optional(Type.Enum(['message'])),
})

export const ResponseBody = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'An id of the agent, as /v1/models has it.' }),
    input: Type.Union([Type.String(), Type.Array(Item, { minItems: 1, maxItems: maxMessages })]),
    instructions: maybe(Type.String()),
    metadata: maybe(Type.Record(Type.String(), Type.String())),
    stream: maybe(Type.Boolean()),
    tools: other(notTaken),
    tool_choice: other(toolChoice),
    previous_response_id: other('A 400: `session-id` keeps a conversation.'),
    store: other('`true` is a 400.'),
    text: maybe(Type.Object({ format: maybe(Type.Object({ type: Type.String({ description: 'Another than `text` is a 400.' }) })) })),
  },
  { description: 'Sampling parameters are ignored: the agent has its own.', example: responseExample },
)

export type ResponseBody = Type.Static<typeof ResponseBody>
