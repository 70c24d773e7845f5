import type { FastifyReply, FastifyRequest } from 'fastify'
import { toFileName } from '../../artifacts/file-name.ts'
import { ServiceError, type Fault } from '../../errors.ts'
import type { RequestedDecision } from '../../runs/approvals/decisions.ts'
import type { SentFile } from '../../runs/attachments/sent-files.ts'
import type { OpenRun } from '../../runs/open-run.ts'
import { answerCalls, type AnswerServices, type RunPart } from '../../runs/parts.ts'
import type { SessionRuns } from '../../runs/run-list.ts'
import type { RunStore } from '../../runs/run-store.ts'
import type { DecidedCall } from '../../runs/trace/span.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { nothingReceived, receivedBefore, type RunStream, sendFailedStream, sendRun } from '../send-run.ts'
import { followRun, type Exchange, type Opening } from '../reader.ts'
import { principalOf } from '../server/authenticate.ts'
import { type ChatSource, openChat, type ChatServices } from './core/open-chat.ts'
import type { ChatBody } from '../schemas/chat.ts'

/** Services of the protocols for chat pages. */
export interface PageServices extends ChatServices, AnswerServices {
  runStore: Pick<RunStore, 'find'>
  sessionRuns: SessionRuns
  sessions: Pick<Sessions, 'isStarted'>
}

/** A request of a page: a question, or answers to the tool calls of the run that waits in its session. */
export interface PageRequest {
  sessionId: string
  /** Present for a request that answers tool calls. Converts the answers to decisions on `calls`, the open calls of the run or, for a repeat, all. */
  toDecisions: ((calls: readonly DecidedCall[]) => RequestedDecision[]) | undefined
  /** True if the request has more than its question. */
  hasHistory: boolean
  /** The chat. `isStarted`: the session has messages. */
  toSource(isStarted: boolean): ChatSource
  /** The stream of the run; `part` is present for a run that goes on after answers. */
  render(run: Pick<OpenRun, 'requestId' | 'hasSchema'>, part?: RunPart): RunStream
}

/** Answers a request of a page with a stream. Clients of these protocols read failures of the run from the stream, and other refusals as HTTP errors. */
export async function sendPageRun(
  services: PageServices,
  request: FastifyRequest,
  reply: FastifyReply,
  page: PageRequest,
): Promise<FastifyReply> {
  const { render } = page
  const requestId = request.id
  try {
    const { opening, resumed } = await open(services, { request, reply }, page)
    return await sendRun(reply, opening, {
      ...(resumed ? receivedBefore(resumed.part) : nothingReceived),
      render: (hasSchema) => render({ requestId: resumed?.requestId ?? requestId, hasSchema }, resumed?.part),
      failsInStream: true,
    })
  } catch (error) {
    if (!isOfRun(error)) throw error
    return sendFailedStream(reply, inWords(error), render({ requestId, hasSchema: false }))
  }
}

interface Opened {
  opening: Opening
  /** The run that goes on after the answers of the request. */
  resumed?: { requestId: string; part: RunPart }
}

async function open(services: PageServices, { request, reply }: Exchange, page: PageRequest): Promise<Opened> {
  const { sessionId, toDecisions, hasHistory } = page
  if (toDecisions) return continueRun(services, { request, reply }, sessionId, toDecisions)
  const isStarted = hasHistory && (await services.sessions.isStarted(principalOf(request), sessionId))
  return { opening: openChat(services, { request, reply, operation: 'chain_streaming', source: page.toSource(isStarted) }) }
}

/** Applies the answers of a request to the run of its session that waits, or to the newest run, since answers may be repeated. */
async function continueRun(
  services: PageServices,
  exchange: Exchange,
  sessionId: string,
  toDecisions: NonNullable<PageRequest['toDecisions']>,
): Promise<Opened> {
  const { sessionRuns, runStore } = services
  const principal = principalOf(exchange.request)
  const listed = (await sessionRuns.newest(principal, sessionId, 'interrupted')) ?? (await sessionRuns.newest(principal, sessionId))
  const { tenant, owner } = principal
  const run = listed && (await runStore.find({ tenant, owner, requestId: listed.requestId }))
  if (!run) throw new ServiceError('not_interrupted', `No run of the session ${sessionId} waits.`)
  const { before, open } = await answerCalls(services, { principal, run, toDecisions })
  // A page waits on its stream for the decision of another person, and is told again about calls that the page itself has left open.
  const left = open.filter(({ by }) => by !== 'role')
  const { requestId } = run
  const chat = await followRun(services, exchange, { tenant, owner, requestId })
  void exchange.reply.header('request-id', requestId)
  return { opening: { chat: Promise.resolve(chat) }, resumed: { requestId, part: { before, open: left } } }
}

/**
 * Whether an error is about the run, the session, or a used up budget: the person in front of the page reads the time of the reset. Refusals for
 * load, limits and missing permissions stay HTTP errors.
 */
function isOfRun(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) return false
  return error.code === 'budget_exceeded' || (error.retryAfter === undefined && error.code !== 'forbidden')
}

/** The error for the person in front of the page, who attached pictures and knows no list `images`. */
function inWords(error: ServiceError): ServiceError {
  const message = error.message.replace(/^images\[(\d+)\]:/, (_, index: string) => `Picture ${Number(index) + 1}:`)
  return message === error.message ? error : new ServiceError(error.code, message, { cause: error, faults: error.faults })
}

/** Chats of page protocols, whose clients send the whole conversation with each question. */

/** Most messages of a conversation, and most parts of a message. */
export const maxPageMessages = 2000

type Image = NonNullable<ChatBody['images']>[number]

/** A message of a page, without its tool calls. */
export interface PageMessage {
  role: 'user' | 'assistant' | 'system'
  content: string
  images: Image[]
  /** Documents, audio and videos. */
  files: SentFile[]
}

/** The messages and attachments of a chat. */
interface PageChat {
  body: Pick<ChatBody, 'messages' | 'images'>
  sentFiles: SentFile[]
}

/** Most images of a chat. */
const maxImages = 5

/**
 * Converts a conversation to a chat, whose question is the last message. The service has the earlier turns of a session with messages
 * (`isStarted`), so they are left out; system messages count for each question.
 */
export function toPageChat(messages: readonly PageMessage[], isStarted: boolean, at: Fault['loc']): PageChat {
  const question = messages.at(-1)
  if (question?.role !== 'user') throw withoutQuestion([...at, Math.max(0, messages.length - 1)])
  const earlier = messages.slice(0, -1).filter(({ role, content }) => role === 'system' || (!isStarted && content !== ''))
  const images = newestImages([...earlier, question])
  return {
    body: {
      messages: [...earlier, question].map(({ role, content }) => ({ role, content })),
      ...(images.length > 0 && { images }),
    },
    sentFiles: newestFiles(earlier, question),
  }
}

/** Most files of a chat. */
const maxFiles = 20

/** The newest earlier files up to a limit, then the files of the question. */
function newestFiles(earlier: readonly PageMessage[], question: PageMessage): SentFile[] {
  const earlierFiles = earlier.flatMap(({ files }) => files.map((file) => ({ ...file, isEarlier: true })))
  const room = Math.max(0, maxFiles - question.files.length)
  return [...(room > 0 ? earlierFiles.slice(-room) : []), ...question.files]
}

function withoutQuestion(at: Fault['loc']): ServiceError {
  const msg = 'the last message must be of role user, or answer a tool call that waits'
  return new ServiceError('validation', `There is no question to answer: ${msg}.`, { faults: [{ loc: at, msg, type: 'value_error' }] })
}

/** The images of the question, then the newest earlier ones. */
function newestImages(messages: readonly PageMessage[]): Image[] {
  const own = messages.at(-1)?.images ?? []
  const earlier = messages.slice(0, -1).flatMap(({ images }) => images)
  const room = Math.max(0, maxImages - own.length)
  return [...own, ...(room > 0 ? earlier.slice(-room) : [])]
}

/** A file of a data: URL. `name` is the client's, or else a general one. The label is for the person in front of the page. */
export function toPageFile(url: string, name: string | undefined, at: Fault['loc']): SentFile {
  const fileName = toFileName(name ?? 'file')
  const label = name === undefined ? 'The attached file' : `The file ${fileName}`
  refuseLink(url, label, at)
  return { name: fileName, content: url, label }
}

/** An image of a data: URL. */
export function toImage(url: string, at: Fault['loc']): Image {
  refuseLink(url, 'The image', at)
  return { type: 'base64', content: url }
}

/** Other URLs are refused, as the service fetches nothing that a caller names. */
function refuseLink(url: string, label: string, at: Fault['loc']): void {
  if (/^data:/i.test(url)) return
  const fault = { loc: at, msg: 'must be a data: URL; files are not fetched from other addresses', type: 'value_error' }
  throw new ServiceError('validation', `${label} is a link. Attach the file itself: files are not fetched from other addresses.`, {
    faults: [fault],
  })
}
