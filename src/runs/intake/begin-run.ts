import type { JsonSchema } from '../../agent/messages.ts'
import { LiveRun } from '../ownership/live-run.ts'
import type { Intake } from './admission.ts'
import type { Attachments, CheckedAttachments } from '../attachments/attachments.ts'
import type { NewChat, OpenTarget } from '../new-chat.ts'
import { contextOpening, questionOf } from '../../files/context-text.ts'
import type { ChatMessage, ChatRequest } from '../run.ts'
import type { Begun, NewRun, RunStore, Turn } from '../run-store.ts'
import { toNewMessages } from '../window/transcript.ts'

interface BeginRunDependencies {
  store: Pick<RunStore, 'begin'>
  attachments: Attachments
  intake: Pick<Intake, 'nextArrival'>
  /** Id of the local process. */
  holder: string
  now(): number
  newId(): string
}

/**
 * Checks the attachments of a chat, then stores the run. `run` is to be launched where `stored` is `running` or `waiting`. `onCommitted` may be
 * called before the promise resolves, with the turn of a running run and the promise of `RunStore.begin`.
 */
export type BeginRun = (
  chat: NewChat,
  target: OpenTarget,
  onCommitted?: (run: LiveRun, turn: Turn, storing: Promise<unknown>) => void,
) => Promise<{ run: LiveRun; stored: Begun }>

export function createBeginRun({ store, attachments, intake, holder, now, newId }: BeginRunDependencies): BeginRun {
  return async (chat, { key, sessionId, agent, event }, onCommitted) => {
    const scope = { caller: key, agent, filters: chat.request.filters }
    const checked = chat.attachments && (await attachments.check(chat.attachments, scope, chat.at))
    const requested = withDefaultSchema(chat.request, agent.config.response_schema)
    const request = checked ? withAttachments(requested, checked) : requested
    const { operation, bodyHash, onDisconnect, times } = chat
    const run = new LiveRun({ key, sessionId, operation, bodyHash, request, agent, onDisconnect, fence: 1, times })
    const newRun: NewRun = {
      ...key,
      sessionId,
      operation,
      bodyHash,
      request,
      onDisconnect,
      sessionKey: newId(),
      shortName: shortName(request.messages),
      holder,
      queueOrder: intake.nextArrival(),
      agent: agent.config.name,
      configVersion: agent.version,
      input: run.input.slice(0, maxInputCharacters).toWellFormed(),
      now: now(),
      messages: toNewMessages(request, key.requestId, now()),
      ...(checked ? { images: checked.pictures, files: checked.fileBytes } : {}),
      ...(event ? { event } : {}),
      ...(chat.notifications ? { notifications: chat.notifications } : {}),
      ...(chat.afterMessages === undefined ? {} : { afterMessages: chat.afterMessages }),
      ...(chat.unstored ? { unstored: chat.unstored } : {}),
    }
    const storing = times.during('store', () => store.begin(newRun, (turn) => onCommitted?.(run, turn, storing)))
    return { run, stored: await storing }
  }
}

/** The schema of agent.yaml becomes a part of the request: a change of the configuration does not change the answer of a run. */
function withDefaultSchema(request: ChatRequest, schema: JsonSchema | null | undefined): ChatRequest {
  return schema && request.responseSchema === undefined ? { ...request, responseSchema: schema } : request
}

function withAttachments(request: ChatRequest, { images, contextFiles, documents, files }: CheckedAttachments): ChatRequest {
  return {
    ...request,
    ...(images.length > 0 ? { images } : {}),
    ...(contextFiles.length > 0 ? { contextFiles } : {}),
    ...(documents.length > 0 ? { documents } : {}),
    ...(files.length > 0 ? { files } : {}),
  }
}

/** Lists of runs show the start of the question. */
const maxInputCharacters = 200

const maxNameCharacters = 60

/** The name of a session in lists. */
export function shortName(messages: readonly ChatMessage[]): string {
  return nameOf(messages.find((message) => message.role === 'user')?.content ?? '')
}

/** The name of a session: the beginning of its first question, without context files, cut at a word. */
export function nameOf(first: string): string {
  const question = first.startsWith(contextOpening) ? questionOf(first) : first
  // Only the part that may appear in the name is processed.
  const text = (question || first)
    .trimStart()
    .slice(0, maxNameCharacters * 4)
    .replace(/\s+/g, ' ')
    .trim()
  if (text.length <= maxNameCharacters) return text
  // A blank right after the limit ends a word that fits.
  const word = text.lastIndexOf(' ', maxNameCharacters - 1)
  return `${text.slice(0, word > maxNameCharacters / 2 ? word : maxNameCharacters - 1).toWellFormed()}…`
}
