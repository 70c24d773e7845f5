import { invalid, type Fault } from '../errors.ts'
import { toFileName } from '../artifacts/file-name.ts'
import type { SentFile } from '../runs/attachments/sent-files.ts'
import { labelOf } from './field-path.ts'
import type { ChatBody } from './schemas.ts'

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
  if (question?.role !== 'user') throw invalid([...at, Math.max(0, messages.length - 1)], noQuestion)
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

const noQuestion = 'the last message must be of role user, or answer a tool call that waits'

/** The images of the question, then the newest earlier ones. */
function newestImages(messages: readonly PageMessage[]): Image[] {
  const own = messages.at(-1)?.images ?? []
  const earlier = messages.slice(0, -1).flatMap(({ images }) => images)
  const room = Math.max(0, maxImages - own.length)
  return [...own, ...(room > 0 ? earlier.slice(-room) : [])]
}

/** A file of a data: URL. `name` is the client's, or else a general one. */
export function toPageFile(url: string, name: string | undefined, at: Fault['loc']): SentFile {
  if (!/^data:/i.test(url)) throw invalid(at, 'must be a data: URL; files are not fetched from other addresses')
  return { name: toFileName(name ?? 'file'), content: url, label: labelOf(at) }
}

/** An image of a data: URL. Other URLs are refused, as the service fetches nothing that a caller names. */
export function toImage(url: string, at: Fault['loc']): Image {
  if (!/^data:/i.test(url)) throw invalid(at, 'must be a data: URL; images are not fetched from other addresses')
  return { type: 'base64', content: url }
}
