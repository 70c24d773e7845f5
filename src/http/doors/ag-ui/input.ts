import { object, Id, maybe } from '../../schemas/shared.ts'
import { Type } from 'typebox'
import { invalid, type Fault } from '../../../errors.ts'
import { isObject } from '../../../json/shape.ts'
import type { ChatSource } from '../core/open-chat.ts'
import { maxPageMessages, toImage, toPageChat, toPageFile, type PageMessage } from '../pages.ts'
import { type ChatBody, maxClientTools, clientToolName } from '../../schemas/chat.ts'

/** The request of AG-UI 1.0, `RunAgentInput`. Unknown fields are ignored. */

const Part = Type.Object({
  type: Type.Enum(['text', 'image', 'audio', 'video', 'document', 'binary'], {
    description: 'A text, or a file. Files that the model does not take are refused.',
  }),
  text: maybe(Type.String()),
  source: maybe(
    object('The bytes of a file in base64, or a data: URL.', {
      type: Type.Enum(['data', 'url']),
      value: Type.String(),
      mimeType: maybe(Type.String()),
    }),
  ),
  mimeType: maybe(Type.String({ description: 'The media type of a `binary` part.' })),
  filename: maybe(Type.String({ maxLength: 1000, description: 'The name of a `binary` part.' })),
  data: maybe(Type.String({ description: 'The bytes of a `binary` part in base64.' })),
  url: maybe(Type.String({ description: 'The address of a `binary` part: a data: URL.' })),
})

const Message = Type.Object({
  id: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  role: Type.Enum(['user', 'assistant', 'system', 'developer', 'tool', 'reasoning', 'activity']),
  content: Type.Optional(Type.Union([Type.String(), Type.Array(Part), Type.Object({}), Type.Null()])),
  toolCallId: maybe(Type.String({ description: 'The call that a message of role `tool` answers.' })),
  error: maybe(Type.String({ description: 'Why the tool failed.' })),
})

const Tool = Type.Object({
  name: clientToolName,
  description: maybe(Type.String({ maxLength: 16_384 })),
  parameters: Type.Optional(Type.Unknown({ description: 'The JSON Schema of the input.' })),
})

export const RunAgentInput = object('The input of a run in AG-UI 1.0. Fields that are not listed are ignored.', {
  threadId: Type.String({ ...Id, description: 'The conversation: the id of the session.' }),
  runId: Type.String({ ...Id, description: 'The run: the request id.' }),
  messages: Type.Array(Message, {
    maxItems: maxPageMessages,
    description: 'The conversation, with the question last. The service has the earlier turns of its sessions, and reads them from there.',
  }),
  tools: maybe(Type.Array(Tool, { maxItems: maxClientTools, description: 'Tools that the page runs.' })),
  context: maybe(
    Type.Array(Type.Object({ description: Type.String(), value: Type.String() }), {
      description: 'What the page shows. The model is told for this question alone.',
    }),
  ),
  state: Type.Optional(Type.Unknown({ description: 'The state of the page. The plan of the run is added to it.' })),
  forwardedProps: Type.Optional(Type.Unknown({ description: 'Ignored.' })),
  resume: maybe(
    Type.Array(
      Type.Object({
        interruptId: Type.String(),
        status: Type.Enum(['resolved', 'cancelled']),
        payload: Type.Optional(
          Type.Unknown({
            description: 'What the `responseSchema` of the interrupt describes, mostly `{approved, editedArgs?, reason?}`.',
          }),
        ),
      }),
      { description: 'Answers to the interrupts of the run that waits.' },
    ),
  ),
})

export type RunAgentInput = Type.Static<typeof RunAgentInput>

export const AgUiEvent = Type.Object(
  { type: Type.String({ description: 'The name of the event, such as `TEXT_MESSAGE_CONTENT`.' }) },
  { additionalProperties: true, description: 'An event of AG-UI; `type` decides on the other fields.' },
)

type Loc = Fault['loc']
type Message = RunAgentInput['messages'][number]
type Part = Extract<NonNullable<Message['content']>, readonly { type: string }[]>[number]

const roles = { user: 'user', assistant: 'assistant', system: 'system', developer: 'system' } as const
const at: Loc = ['body', 'messages']

/** The chat of a request. `isStarted`: the session has messages. Throws a validation error for parts that the agent cannot read. */
export function toSource(input: RunAgentInput, isStarted: boolean): ChatSource {
  const messages = input.messages.flatMap((message, index) => toPageMessage(message, [...at, index]) ?? [])
  const { body, sentFiles } = toPageChat(messages, isStarted, at)
  return {
    sentFiles,
    body: { ...body, session_id: input.threadId, client_tools: toClientTools(input) },
    at: ['body'],
    toolLoc: (index, field) => ['body', 'tools', index, field === 'schema' ? 'parameters' : field],
    instructions: toInstructions(input),
  }
}

function toClientTools({ tools }: RunAgentInput): ChatBody['client_tools'] {
  return tools?.map(({ name, description, parameters }) => ({ name, description, schema: isObject(parameters) ? parameters : null }))
}

/** What the page shows, as instructions for one run; undefined for nothing. */
function toInstructions({ context }: RunAgentInput): string | undefined {
  if (!context || context.length === 0) return undefined
  const entries = context.map(({ description, value }) => `- ${description}: ${value}`)
  return `# What the application shows to the user now\n${entries.join('\n')}`
}

/** Undefined for messages that the service has itself, or that are only for people: tool results, reasoning, activities. */
function toPageMessage({ role, content }: Message, loc: Loc): PageMessage | undefined {
  if (role === 'tool' || role === 'reasoning' || role === 'activity') return undefined
  const message: PageMessage = { role: roles[role], content: '', images: [], files: [] }
  if (!Array.isArray(content)) return { ...message, content: typeof content === 'string' ? content : '' }
  const texts: string[] = []
  for (const [index, part] of content.entries()) {
    const partLoc = [...loc, 'content', index]
    if (part.type === 'text') texts.push(part.text ?? '')
    else if (isImage(part)) message.images.push(toImage(urlOf(part, partLoc), partLoc))
    else message.files.push(toPageFile(urlOf(part, partLoc), part.filename ?? nameOf(part, index), partLoc))
  }
  return { ...message, content: texts.join('\n') }
}

function isImage({ type, mimeType }: Part): boolean {
  return type === 'image' || (type === 'binary' && /^image\//i.test(mimeType ?? ''))
}

/** A name for a file without one, such as `document-1`. */
function nameOf({ type }: Part, index: number): string {
  return `${type === 'binary' ? 'file' : type}-${index + 1}`
}

function urlOf({ source, mimeType, data, url }: Part, loc: Loc): string {
  if (source) return source.type === 'url' ? source.value : toDataUrl(source.mimeType, source.value)
  if (typeof data === 'string') return toDataUrl(mimeType, data)
  if (typeof url === 'string') return url
  throw invalid([...loc, 'source'], 'is required', 'missing')
}

function toDataUrl(mimeType: string | null | undefined, base64: string): string {
  return `data:${mimeType ?? ''};base64,${base64}`
}
