import { each, orNull, namedObject } from '../../schemas/shared.ts'
import { Type, type TSchema } from 'typebox'
import { waitingFields, GeneratedArtifact } from '../../schemas/chat.ts'

/** Reply schemas of the routes for OpenAI clients, for the OpenAPI document. */

const tokens = Type.Integer({ minimum: 0 })

export const OpenAiErrorReply = namedObject('OpenAIError', 'An error in the shape of OpenAI’s API.', {
  error: Type.Object({
    ...each(Type.String(), 'message', 'type'),
    param: orNull(Type.String({ description: 'The faulty field.' })),
    code: orNull(Type.String()),
  }),
})

/** A page of a list. */
export function listOf<T extends TSchema>(schema: T) {
  const ids = each(orNull(Type.String()), 'first_id', 'last_id')
  return Type.Object({ object: Type.Enum(['list']), data: Type.Array(schema), ...ids, has_more: Type.Boolean() })
}

/** The list of `data`. */
export function toList<T extends { id: string }>(data: T[], hasMore: boolean) {
  return { object: 'list' as const, data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore }
}

export function openAiRefusals(...statuses: number[]): Record<number, TSchema> {
  return Object.fromEntries(statuses.map((status) => [status, OpenAiErrorReply]))
}

export const Model = Type.Object({
  id: Type.String(),
  object: Type.Enum(['model']),
  created: Type.Integer({ description: 'Epoch seconds.' }),
  owned_by: Type.String(),
})

export const ModelList = Type.Object({ object: Type.Enum(['list']), data: Type.Array(Model) })

const UrlCitation = {
  ...each(Type.Integer(), 'start_index', 'end_index'),
  title: Type.String({ description: 'The title of the web page, or the file name.' }),
  url: Type.String(),
}

const Annotations = Type.Optional(
  Type.Array(Type.Object({ type: Type.Enum(['url_citation']), url_citation: Type.Object(UrlCitation) }), {
    description: 'The web pages that the content rests on, and the links to files that end the content as a Markdown list.',
  }),
)

/** The extra field for files, with the shape of the other chat routes. */
export const artifactFields = {
  generated_artifacts: Type.Optional(Type.Array(GeneratedArtifact, { description: 'Files of the run; absent for none.' })),
}

const finishReason = Type.Enum(['stop', 'length', 'content_filter', 'tool_calls'])

const FunctionCall = Type.Object({
  id: Type.String({ description: '`call_<tool call id>`' }),
  type: Type.Enum(['function']),
  function: Type.Object({ name: Type.String(), arguments: Type.String({ description: 'JSON.' }) }),
})

export const ChatCompletion = Type.Object({
  id: Type.String({ description: '`chatcmpl-<request id>`' }),
  object: Type.Enum(['chat.completion']),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Enum(['assistant']),
        content: orNull(Type.String()),
        refusal: Type.Null(),
        tool_calls: Type.Optional(Type.Array(FunctionCall, { description: 'Calls of client tools that wait for their output.' })),
        annotations: Annotations,
        reasoning_content: Type.Optional(Type.String()),
      }),
      logprobs: Type.Null(),
      finish_reason: finishReason,
    }),
  ),
  usage: Type.Object({
    ...each(tokens, 'prompt_tokens', 'completion_tokens', 'total_tokens'),
    prompt_tokens_details: Type.Object({ cached_tokens: tokens }),
    completion_tokens_details: Type.Object({ reasoning_tokens: tokens }),
  }),
  metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
  ...waitingFields,
  ...artifactFields,
})

const Delta = Type.Object({
  role: Type.Optional(Type.Enum(['assistant'])),
  content: Type.Optional(Type.String()),
  tool_calls: Type.Optional(
    Type.Array(Type.Object({ ...Type.Partial(FunctionCall).properties, index: Type.Integer() }), {
      description: 'A part of the calls of client tools.',
    }),
  ),
  annotations: Annotations,
  reasoning_content: Type.Optional(Type.String()),
})

export const ChatCompletionChunk = Type.Object({
  id: Type.String({ description: '`chatcmpl-<request id>`' }),
  object: Type.Enum(['chat.completion.chunk']),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      delta: Delta,
      logprobs: Type.Null(),
      finish_reason: orNull(finishReason),
    }),
    { description: 'Empty in the chunk that states the usage.' },
  ),
  usage: Type.Optional(orNull(ChatCompletion.properties.usage)),
  ...waitingFields,
  ...artifactFields,
})

/** A reply that is JSON, or server-sent events for `stream: true`: `event` describes the `data` of one event. */
export function jsonOrEvents(json: TSchema, event: TSchema, events: string): object {
  return {
    description: `A JSON answer; with \`stream\`, server-sent events, described by the schema of one \`data\`: ${events}`,
    content: { 'application/json': { schema: json }, 'text/event-stream': { schema: event } },
  }
}
