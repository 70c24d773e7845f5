import { ServiceError, type Fault } from '../../errors.ts'
import { toFileName } from '../../artifacts/file-name.ts'
import type { SentFile } from '../../runs/attachments/sent-files.ts'
import type { ChatBody } from '../resources/schemas.ts'

/** Chats of page protocols, whose clients send the whole conversation with each question. */

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
