import type { JsonObject } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import type { Metadata, Section } from '../../files/document.ts'
import type { ReadyDocument } from '../../knowledge/knowledge-store.ts'
import { matchesFilters } from '../filter-match.ts'
import type { IndexedDocument } from './indexed-document.ts'

/** A passage of a file or of an uploaded document. */
export interface FoundPassage {
  source: { file: string; document_id?: string }
  passage: Section
  score: number
  metadata: Metadata
}

/** The part of a call's context which decides on visible documents. */
export type DocumentScope = Pick<ToolContext, 'filters' | 'isWithheld'>

/** Stands for all uploaded documents where tools say which files they read. No file under the root has a hidden name. */
export const uploadsPath = '.uploads/*'

export function isVisibleFile(document: IndexedDocument, { filters, isWithheld }: DocumentScope): boolean {
  const fields = { ...document.metadata, path: document.file, file: document.file }
  return matchesFilters(fields, filters) && !isWithheld(document.file) && !isWithheld(document.target)
}

export function isVisibleUpload({ id, name, metadata }: ReadyDocument, { filters }: DocumentScope): boolean {
  return matchesFilters({ ...metadata, name, document_id: id }, filters)
}

/** The passages as output of the tool: as many as fit into `room` characters, but at least one. */
export function toOutput(found: readonly FoundPassage[], room: number): JsonObject[] {
  const passages: JsonObject[] = []
  let remaining = room - '{"passages":[]}'.length
  for (const { source, passage, score, metadata } of found) {
    const result = { ...source, ...toPlace(passage), score: Number(score.toFixed(3)), metadata }
    remaining -= JSON.stringify(result).length + 1
    // A single passage above the limit is returned too: a cut passage is better than no passage.
    if (remaining < 0 && passages.length > 0) break
    passages.push(result)
  }
  return passages
}

/** A passage with its page, and its characters in the text of the document: `start` is its offset, `end` the one behind it. */
function toPlace({ heading, page, start, text }: Section) {
  return { heading, ...(page !== undefined && { page }), start, end: start + text.length, text }
}
