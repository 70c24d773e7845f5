import type { Artifact, Message, Taint } from '../agent/messages.ts'

/** Data of a message beside the text. */
export interface MessageData {
  /** human: the id of a message that was sent to a running run. */
  messageId?: string
  /**
   * ai: the run of the answer. human: the run that brought the message, when the run brought several messages or
   * images.
   */
  requestId?: string
  model?: string
  /** ai: names of the run's data filter hints; absent for none. */
  hints?: string[]
  finishReason?: string
  usage?: UsageEntry[]
  steps?: AnswerStep[]
  reasoning?: string[]
  planning?: string[]
  /** ai: the passages that the answer rests on; absent for none. */
  citations?: Citation[]
  /** ai: the transcript of model and tools, when more than the text. */
  transcript?: Message[]
  /** ai: taint of everything shown to the model; absent: no containment. */
  taint?: Taint
  /** ai: files made by tools, in the order of creation. */
  artifacts?: Artifact[]
  /** human: pictures, whose bytes are in the store, and files, by name. */
  images?: ImageReference[]
  contextFiles?: string[]
  /** human: documents, audio and videos that the model has read itself. */
  files?: FileReference[]
  /** human: system messages from the caller. */
  system?: string
  /** The message was deleted: only its place, and `system`, are left. */
  deleted?: true
}

/**
 * A picture of a message, by name. The bytes are stored under the run that brought the picture and the index in this
 * list.
 */
export interface ImageReference {
  /** A file's name, or `image-1.png`. */
  name: string
  /** MIME type as received; the stored picture may have another type. */
  mediaType: string
}

/** A file of a message that a model reads itself. The bytes are stored as those of pictures are. */
export interface FileReference {
  name: string
  /** MIME type by the content of the file. */
  mediaType: string
  /** Bytes. */
  size: number
  /** Estimate of what the file takes of a request to a model. */
  tokens: number
  /** Pages of a document; absent where their number is unknown. */
  pages?: number
}

/** Usage of a run: tokens or USD per model, seconds per tool. */
export interface UsageEntry {
  costAttribute: string
  usage: number
  unit: 'tokens' | 'USD' | 'seconds'
  /** Tokens of a model. `cache_write` is absent where none was written to a prompt cache at a price. */
  details?: { input: number; output: number; cached_input: number; cache_write?: number; reasoning: number }
}

/** A part of an answer, and the passage of a document that says it. Ends are exclusive. */
export interface Citation {
  /** The tool that returned the passage; `model` for a source that the model named without a tool. */
  tool: string
  /** The path or the name of a document; the title or the host of a web page. */
  file: string
  /** Address of a web page, http or https. */
  url?: string
  /** Title of a web page. */
  title?: string
  /** Id of an uploaded document. */
  documentId?: string
  /** Empty for a passage before the first heading. */
  heading: string
  /** Page or slide, from 1. */
  page?: number
  /** Characters in the text of the document. */
  start: number
  end: number
  /** The quoted text of the document. */
  text: string
  /** Characters in the answer. */
  answerStart: number
  answerEnd: number
}

/** A step of an answer, in the callers' view. */
export interface AnswerStep {
  tool: string
  tool_input: unknown
  log: string
  type: string
  output: unknown
  status: 'success' | 'error'
  /** Seconds. */
  execution_time: number
  /** ISO 8601, UTC. */
  started_at: string
  /** The sub-agent of the step; absent for the agent itself. */
  sub_agent?: string
}

/** What belongs to an answer beside its text, by kind. */
export interface AdditionalContext {
  context_type: 'reasoning' | 'planning' | 'citations'
  items: ContextItem[]
}

/** A text; for `citations` the quoted text with its places. Offsets count characters, ends are exclusive. */
interface ContextItem {
  content: string
  file?: string
  /** Address and title of a web page. */
  url?: string
  title?: string
  /** Id of an uploaded document. */
  document_id?: string
  heading?: string
  page?: number
  /** Of the quote in the text of the document. */
  start?: number
  end?: number
  /** Of the cited part of the answer. */
  answer_start?: number
  answer_end?: number
  /** The tool that returned the passage. */
  tool?: string
}

/** The context of a kind, in a list; an empty list without texts. */
export function toContext(kind: 'reasoning' | 'planning', texts: readonly string[] = []): AdditionalContext[] {
  return texts.length > 0 ? [{ context_type: kind, items: texts.map((content) => ({ content })) }] : []
}

/** The citations of an answer as a list of contexts; an empty list without citations. */
export function toCitationContext(citations: readonly Citation[] = []): AdditionalContext[] {
  return citations.length > 0 ? [{ context_type: 'citations', items: citations.map(toItem) }] : []
}

function toItem({ tool, file, url, title, documentId, heading, page, start, end, text, answerStart, answerEnd }: Citation): ContextItem {
  const web = { ...(url !== undefined && { url }), ...(title !== undefined && { title }) }
  const source = {
    file,
    ...web,
    ...(documentId !== undefined && { document_id: documentId }),
    heading,
    ...(page !== undefined && { page }),
  }
  return { content: text, ...source, start, end, answer_start: answerStart, answer_end: answerEnd, tool }
}
