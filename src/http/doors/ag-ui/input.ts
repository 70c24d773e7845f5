import { invalid, type Fault } from '../../../errors.ts'
import { isObject } from '../../../json/shape.ts'
import type { ChatSource } from '../core/chat-request.ts'
import { toImage, toPageChat, toPageFile, type PageMessage } from '../page-chat.ts'
import type { ChatBody } from '../../resources/schemas.ts'
import type { RunAgentInput } from './schemas.ts'

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
