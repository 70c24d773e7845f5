import type { Citation } from './message.ts'

/** What belongs to an answer beside its text, by kind. */
export interface AdditionalContext {
  context_type: 'reasoning' | 'planning' | 'citations'
  items: ContextItem[]
}

/** A text; for `citations` the quoted text with its places. Offsets count characters, ends are exclusive. */
export interface ContextItem {
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
