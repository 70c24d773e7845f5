import { Type } from 'typebox'
import { invalid, type Fault } from '../../../errors.ts'
import { isObject } from '../../../json/shape.ts'
import type { ChatSource } from '../core/open-chat.ts'
import { maxPageMessages, toImage, toPageChat, toPageFile, type PageMessage } from '../pages.ts'
import { Id, maybe, object } from '../../schemas/shared.ts'
import { graphId, isAssistant } from './state.ts'
import { type StreamMode, streamModes } from './projection.ts'
import { isGiven, notOffered } from './errors.ts'

/** The requests of LangGraph's Agent Server. Unknown fields are ignored. */

export const Message = Type.Object({
  type: maybe(Type.String({ maxLength: 32 })),
  role: maybe(Type.String({ maxLength: 32 })),
  content: Type.Optional(Type.Unknown()),
})

export type Message = Type.Static<typeof Message>

const checkpointId = maybe(Type.String({ maxLength: 200 }))
const CheckpointName = maybe(Type.Object({ checkpoint_id: checkpointId }))

/** The fields by which clients name a checkpoint; `configurable` is the field of a configuration. */
export const Checkpoint = { checkpoint: CheckpointName, checkpoint_id: checkpointId, configurable: CheckpointName }

interface Named {
  checkpoint_id?: string | null
}

export function checkpointOf(sent: Named & { checkpoint?: Named | null; configurable?: Named | null }): string | undefined {
  return sent.checkpoint?.checkpoint_id ?? sent.checkpoint_id ?? sent.configurable?.checkpoint_id ?? undefined
}

export const RunBody = object('A run.', {
  assistant_id: Type.String({ maxLength: 200, description: '`agent`, or the id of the one assistant.' }),
  input: maybe(
    Type.Object({ messages: maybe(Type.Union([Message, Type.Array(Message, { maxItems: maxPageMessages })])) }),
    'The question is the last message. Without a message, a run from a checkpoint asks the question of the checkpoint again.',
  ),
  command: maybe(
    Type.Object({
      resume: Type.Optional(
        Type.Unknown({ description: '`{decisions}`: `approve`, `edit` or `reject` for each of the `action_requests`, in their order.' }),
      ),
      update: Type.Optional(Type.Unknown()),
      goto: Type.Optional(Type.Unknown({ description: '`__end__` cancels the run that waits.' })),
    }),
  ),
  stream_mode: maybe(Type.Union([Type.String({ maxLength: 32 }), Type.Array(Type.String({ maxLength: 32 }), { maxItems: 16 })])),
  multitask_strategy: maybe(Type.Enum(['reject', 'enqueue', 'interrupt', 'rollback'])),
  on_disconnect: maybe(Type.Enum(['cancel', 'continue'])),
  on_completion: maybe(Type.Enum(['delete', 'keep', 'complete'])),
  if_not_exists: maybe(Type.Enum(['create', 'reject'])),
  checkpoint: CheckpointName,
  checkpoint_id: checkpointId,
  interrupt_before: Type.Optional(Type.Unknown()),
  interrupt_after: Type.Optional(Type.Unknown()),
  webhook: Type.Optional(Type.Unknown()),
  after_seconds: Type.Optional(Type.Unknown()),
})

export type RunBody = Type.Static<typeof RunBody>

export const threadParams = Type.Object({ thread_id: Id })
export const runParams = Type.Object({ thread_id: Id, run_id: Id })

const instead = {
  interrupt_before: 'mark the tool with `approval: required` in agent.yaml',
  interrupt_after: 'mark the tool with `approval: required` in agent.yaml',
  webhook: 'send the run to POST /core/v1/chain_async with a callback_url',
  after_seconds: 'make a schedule with POST /core/v1/schedules',
} as const

/** Refuses what would be lost. */
export function checkRun({ assistant_id: assistant, command, multitask_strategy: strategy, ...body }: RunBody): void {
  if (!isAssistant(assistant))
    throw invalid(['body', 'assistant_id'], `is not known: the agent of this service is the assistant \`${graphId}\``)
  for (const field of Object.keys(instead) as (keyof typeof instead)[]) {
    if (isGiven(body[field])) throw notOffered(['body', field], instead[field])
  }
  const { update, goto, resume } = command ?? {}
  if (isGiven(update) || (isGiven(goto) && (isGiven(resume) || [goto].flat().some((node) => node !== '__end__'))))
    throw notOffered(['body', 'command'], 'send `resume`, or `goto` with `__end__` alone')
  if (strategy === 'rollback') throw notOffered(['body', 'multitask_strategy'], '`interrupt` ends the run and keeps its question')
}

/** The command for the waiting run: `resume` decides its calls, `end` cancels the run. */
export function commandOf({ command }: RunBody): 'resume' | 'end' | undefined {
  if (isGiven(command?.resume)) return 'resume'
  return isGiven(command?.goto) ? 'end' : undefined
}

export function modesOf(sent: unknown, at: Fault['loc']): Set<StreamMode> {
  const modes = (Array.isArray(sent) ? sent : [sent ?? 'values']) as unknown[]
  for (const mode of modes) {
    if (!streamModes.some((target) => target === mode))
      throw invalid(at, `must be of ${streamModes.join(', ')}, but is ${String(mode).slice(0, 32)}`)
  }
  return new Set(modes as StreamMode[])
}

const busy = { reject: 'reject', enqueue: 'queue', interrupt: 'cancel_running', rollback: 'queue' } as const
const at: Fault['loc'] = ['body', 'input', 'messages']

/** The chat of a run. `isStarted`: the session has messages. `question`: of the checkpoint, for a run without messages. */
export function toSource(body: RunBody, isStarted: boolean, question?: string): ChatSource {
  const sent = body.input?.messages ?? []
  const messages = [sent].flat().flatMap((message, index) => toPageMessage(message, [...at, index]) ?? [])
  if (messages.length === 0 && question !== undefined) messages.push({ role: 'user', content: question, images: [], files: [] })
  if (messages.length === 0) throw invalid(at, 'must end with a message of type human', 'missing')
  const { body: chat, sentFiles } = toPageChat(messages, isStarted, at)
  return {
    body: { ...chat, on_busy: busy[body.multitask_strategy ?? 'enqueue'], on_disconnect: body.on_disconnect ?? 'continue' },
    sentFiles,
    at: ['body'],
  }
}

const roles: Record<string, PageMessage['role'] | 'left out'> = {
  human: 'user',
  user: 'user',
  ai: 'assistant',
  assistant: 'assistant',
  AIMessageChunk: 'assistant',
  system: 'system',
  developer: 'system',
  tool: 'left out',
  function: 'left out',
  remove: 'left out',
}

/** Undefined for messages that the service has itself: results of tools, and answers that only call tools. */
export function toPageMessage({ type, role, content }: Message, loc: Fault['loc']): PageMessage | undefined {
  const name = type ?? role ?? ''
  const target = Object.hasOwn(roles, name) ? roles[name] : undefined
  if (target === undefined) throw invalid([...loc, 'type'], 'must be human, ai, system or tool')
  if (target === 'left out') return undefined
  const message: PageMessage = { role: target, content: '', images: [], files: [] }
  if (typeof content === 'string') return { ...message, content }
  if (!Array.isArray(content)) throw invalid([...loc, 'content'], 'must be a text, or a list of parts')
  if (content.length > maxPageMessages) throw invalid([...loc, 'content'], `may have at most ${maxPageMessages} parts`)
  const texts = content.flatMap((part: unknown, index) => takePart(message, part, [...loc, 'content', index]))
  return { ...message, content: texts.join('\n') }
}

/** Adds a file to the message, and returns the text of a text. */
function takePart(message: PageMessage, part: unknown, loc: Fault['loc']): string[] {
  if (typeof part === 'string') return [part]
  const fields = isObject(part) ? part : {}
  if (fields['type'] === 'text' && typeof fields['text'] === 'string') return [fields['text']]
  // What the model has sent itself, such as thoughts and calls.
  if (message.role !== 'user') return []
  const url = urlOf(fields)
  if (url === undefined) throw invalid([...loc, 'type'], 'must be text, image_url, image or file, with its bytes in base64')
  if (fields['type'] === 'image_url' || fields['type'] === 'image' || /^data:image\//i.test(url)) message.images.push(toImage(url, loc))
  else message.files.push(toPageFile(url, nameOf(fields), loc))
  return []
}

function urlOf({ image_url: image, url, data, ...fields }: Record<string, unknown>): string | undefined {
  const sent = isObject(image) ? image['url'] : (image ?? url)
  if (typeof sent === 'string') return sent
  const type = fields['mime_type'] ?? fields['mimeType']
  return typeof data === 'string' && typeof type === 'string' ? `data:${type};base64,${data}` : undefined
}

function nameOf({ metadata, filename }: Record<string, unknown>): string | undefined {
  const fields = isObject(metadata) ? metadata : {}
  const name = filename ?? fields['filename'] ?? fields['name']
  return typeof name === 'string' ? name.slice(0, 1000) : undefined
}
