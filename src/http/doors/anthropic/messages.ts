import { toFileName } from '../../../artifacts/file-name.ts'
import { invalid, labelOf, type Fault } from '../../../errors.ts'
import { isDeeper, maxJsonDepth } from '../../../json/shape.ts'
import type { SentFile } from '../../../runs/attachments/sent-files.ts'
import type { BroughtCall } from '../../../runs/run.ts'
import type { ToolOutput } from '../model-apis/answered-run.ts'
import { requiredText, type Entry, type Image, type Turn } from '../model-apis/brought-chat.ts'
import { toPlainId } from '../model-apis/call-ids.ts'
import { toUploadId } from '../openai/files.ts'
import type { Block, SentMessage } from './schemas.ts'

/** Messages of Anthropic's API as a conversation. */

type Loc = Fault['loc']

/** A conversation, and what its last message has. */
export interface Conversation {
  entries: Entry[]
  /** The outputs of calls in the last message; empty for none. */
  outputs: ToolOutput[]
  /** What the last message has beside outputs; undefined for nothing. */
  beside: Turn | undefined
}

/** Each call must have its result in the message behind, and each result its call in the message before. */
export function toConversation(messages: readonly SentMessage[], at: Loc): Conversation {
  const locs = messages.map((_, index) => [...at, index, 'content'])
  const results = messages.map((message, index) => toResults(message, locs[index]!))
  const conversation: Conversation = { entries: [], outputs: [], beside: undefined }
  for (const [index, message] of messages.entries()) {
    const turn = toTurn(message, locs[index]!)
    const calls = toCalls(message, results[index + 1] ?? [], locs[index]!)
    const outputs = results[index]!
    refuseWithoutCall(outputs, messages[index - 1])
    const beside = turn.content !== '' || turn.images.length > 0 || turn.files.length > 0 ? turn : undefined
    if (calls.length > 0) conversation.entries.push({ ...turn, calls })
    else if (outputs.length === 0 || beside) conversation.entries.push(turn)
    Object.assign(conversation, { outputs: outputs.map(toToolOutput), beside })
  }
  return conversation
}

function blocksOf({ content }: Pick<SentMessage, 'content'>): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Texts of the assistant were blocks of their own in a stream. */
const separators = { user: '\n', system: '\n', assistant: '\n\n' } as const

/** The texts, images and files of a message. Pictures and documents in results of tools count as those of the message. */
function toTurn(message: SentMessage, at: Loc): Turn {
  const { role } = message
  const turn: Turn = { role, content: '', images: [], files: [] }
  const texts: string[] = []
  for (const [index, block] of blocksOf(message).entries()) {
    const loc = [...at, index]
    if (block.type === 'text') texts.push(requiredText(block.text, [...loc, 'text']))
    else if (role === 'user') addBlock(turn, texts, block, loc)
    else if (role === 'system') throw invalid([...loc, 'type'], 'a system message has only blocks of type text')
  }
  return { ...turn, content: texts.filter((text) => text !== '').join(separators[role]) }
}

function addBlock(turn: Turn, texts: string[], block: Block, at: Loc): void {
  switch (block.type) {
    case 'image':
      turn.images.push(toImage(block, at))
      return
    case 'document':
      turn.files.push(toFile(block, at))
      if (block.context) texts.push(block.context)
      return
    case 'search_result':
      texts.push(
        [block.title, block.source, ...textsIn(block.content, [...at, 'content'])].filter((text) => typeof text === 'string').join('\n'),
      )
      return
    case 'tool_reference':
      texts.push(`The tool ${requiredText(block.tool_name, [...at, 'tool_name'])} can be called now.`)
      return
    case 'tool_result': {
      const { images, files } = resultOf(block, at)
      turn.images.push(...images)
      turn.files.push(...files)
      return
    }
    default:
      throw invalid([...at, 'type'], 'is not supported: text, image, document, search_result or tool_result', 'unsupported_parameter')
  }
}

function textsIn(content: Block['content'], at: Loc): string[] {
  if (typeof content === 'string') return [content]
  return Array.isArray(content) ? content.map(({ text }, index) => requiredText(text, [...at, index, 'text'])) : []
}

/** What a `tool_result` has. */
function resultOf({ content }: Block, at: Loc): Turn {
  if (typeof content !== 'string' && !Array.isArray(content)) return { role: 'user', content: '', images: [], files: [] }
  const turn = toTurn({ role: 'user', content }, [...at, 'content'])
  return { ...turn, content: turn.content || [...turn.images.map(() => '[image]'), ...turn.files.map(() => '[file]')].join(' ') }
}

/** A `tool_result` with its place. */
interface Result {
  id: string
  at: Loc
  output: string
  isError: boolean
}

function toResults(message: SentMessage, at: Loc): Result[] {
  if (message.role !== 'user') return []
  return blocksOf(message).flatMap((block, index) => {
    if (block.type !== 'tool_result') return []
    const loc = [...at, index]
    const id = requiredText(block.tool_use_id, [...loc, 'tool_use_id'])
    return [{ id, at: loc, output: resultOf(block, loc).content, isError: block.is_error === true }]
  })
}

function toToolOutput({ id, output, isError }: Result): ToolOutput {
  return { callId: toPlainId(id), output, isError }
}

function refuseWithoutCall(results: readonly Result[], before: SentMessage | undefined): void {
  const blocks = before?.role === 'assistant' ? blocksOf(before) : []
  const open = new Set(blocks.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : [])))
  for (const { id, at } of results)
    if (!open.delete(id)) throw invalid([...at, 'tool_use_id'], `the message before has no tool_use ${id} without a result`)
}

/** The calls of a message, with the results in the message behind. */
function toCalls(message: SentMessage, results: readonly Result[], at: Loc): BroughtCall[] {
  if (message.role !== 'assistant') return []
  const outputs = new Map(results.map(({ id, output }) => [id, output]))
  return blocksOf(message).flatMap(({ type, id: sentId, name: sentName, input }, index) => {
    if (type !== 'tool_use') return []
    const loc = [...at, index]
    const id = requiredText(sentId, [...loc, 'id'])
    const name = requiredText(sentName, [...loc, 'name'])
    if (isDeeper(input, maxJsonDepth)) throw invalid([...loc, 'input'], 'is nested too deeply')
    const result = outputs.get(id)
    if (result === undefined || !outputs.delete(id))
      throw invalid([...loc, 'id'], `the call ${id} needs a tool_result in the message behind`)
    return [{ id: toPlainId(id), name, arguments: JSON.stringify(input ?? {}), result }]
  })
}

const notFetched = 'is not supported: nothing is fetched from other addresses; send the bytes as `base64`'

function sourceOf({ source }: Block, at: Loc) {
  if (typeof source !== 'object' || source === null) throw invalid([...at, 'source'], 'is required', 'missing')
  if (source.type === 'url') throw invalid([...at, 'source', 'type'], notFetched, 'unsupported_parameter')
  return source
}

function toImage(block: Block, at: Loc): Image {
  const { type, data, file_id: fileId } = sourceOf(block, at)
  if (type === 'file' && typeof fileId === 'string') return { uploadId: toUploadId(fileId), label: labelOf(at), isImage: true }
  if (type !== 'base64') throw invalid([...at, 'source', 'type'], 'must be base64 or file')
  return { type: 'base64', content: requiredText(data, [...at, 'source', 'data']) }
}

function toFile(block: Block, at: Loc): SentFile {
  const { type, data, file_id: fileId, content } = sourceOf(block, at)
  const label = labelOf(at)
  if (type === 'file' && typeof fileId === 'string') return { uploadId: toUploadId(fileId), label }
  if (type === 'base64')
    return { name: toFileName(block.title || 'document.pdf'), content: requiredText(data, [...at, 'source', 'data']), label }
  const name = toFileName(block.title || 'document.txt')
  if (type === 'text') return { name, content: toBase64(requiredText(data, [...at, 'source', 'data'])), label }
  if (type !== 'content') throw invalid([...at, 'source', 'type'], 'must be base64, text, content or file')
  return { name, content: toBase64(textsIn(content ?? undefined, [...at, 'source', 'content']).join('\n')), label }
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}
