import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { toMediaType } from '../../../artifacts/media-type.ts'
import type { Citation } from '../../../sessions/message.ts'
import { toPart } from './parts.ts'

/** Parts of the UI message stream for what an answer rests on, and for what it brings. */

/** A part for each quoted place of a document and for each web page; one place may support several parts of the answer. */
export function toSources(citations: readonly Citation[] = []): string {
  const places = new Map<string, Citation[]>()
  for (const citation of citations) {
    const { file, documentId, url, start, end } = citation
    const place = url ?? `${documentId ?? file}#${start}-${end}`
    places.set(place, [...(places.get(place) ?? []), citation])
  }
  return [...places].map(([sourceId, cited]) => toSource(sourceId, cited)).join('')
}

function toSource(sourceId: string, cited: readonly Citation[]): string {
  const { file, url, title, tool, documentId, heading, page, text, start, end } = cited[0]!
  const answer = cited.map(({ answerStart, answerEnd }) => ({ start: answerStart, end: answerEnd }))
  if (url !== undefined) return toPart('source-url', { sourceId, url, title, providerMetadata: { 'agent-core': { tool, text, answer } } })
  return toPart('source-document', {
    sourceId,
    mediaType: toMediaType('', file),
    title: [file, heading].filter(Boolean).join(', '),
    filename: file,
    providerMetadata: { 'agent-core': { document_id: documentId, heading, page, text, start, end, answer } },
  })
}

/** Files without a link, for keys that may not read files, are left out. */
export function toFile({ artifact_id, file_name, file_type, download_url: url }: AnswerFile): string {
  if (url === undefined) return ''
  if (file_type.startsWith('image/')) return toPart('file', { url, mediaType: file_type })
  return toPart('source-url', { sourceId: artifact_id, url, title: file_name })
}
