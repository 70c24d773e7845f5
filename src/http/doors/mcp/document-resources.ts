import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server'
import { accessTo, permits, requireAccess } from '../../../access/operations.ts'
import type { Principal } from '../../../access/principal.ts'
import { ServiceError } from '../../../errors.ts'
import type { Knowledge, KnowledgeDocument } from '../../../knowledge/knowledge.ts'

/** The tenant's documents as MCP resources: their texts, without layout. */

export type DocumentReader = Pick<Knowledge, 'list' | 'text'>

const uriStart = 'agent-core://knowledge/'

export const documentTemplate: ResourceTemplateType = {
  uriTemplate: `${uriStart}{document_id}`,
  name: 'document',
  title: 'Document',
  description: 'The text of an uploaded document, by the `document_id` of a passage of knowledge_search.',
}

/** Longest text that is read through MCP, in characters. */
const maxCharacters = 8 * 1024 * 1024

export function isDocumentUri(uri: string): boolean {
  return uri.startsWith(uriStart)
}

/** Documents that can be read, newest first, after the document `after`; none for a key that may not read documents. */
export async function listDocuments(
  knowledge: DocumentReader,
  { tenant, permissions }: Principal,
  { limit, after }: { limit: number; after: string | undefined },
): Promise<{ resources: Resource[]; next: string | undefined }> {
  if (!permits({ permissions }, accessTo.readDocument)) return { resources: [], next: undefined }
  const { documents, hasMore } = await knowledge.list(tenant, { limit, after })
  return { resources: documents.filter(({ state }) => state === 'ready').map(toResource), next: hasMore ? documents.at(-1)?.id : undefined }
}

export async function readDocument(knowledge: DocumentReader, principal: Principal, uri: string): Promise<ReadResourceResult> {
  requireAccess(principal, accessTo.readDocument)
  const text = await knowledge.text(principal.tenant, uri.slice(uriStart.length)).catch((error: unknown) => {
    throw error instanceof ServiceError && error.code === 'not_found' ? new ResourceNotFoundError(uri) : error
  })
  if (text.length > maxCharacters)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The document has more than ${maxCharacters} characters.`)
  return { contents: [{ uri, mimeType: 'text/plain', text }] }
}

function toResource({ id, name }: KnowledgeDocument): Resource {
  return { uri: `${uriStart}${id}`, name, mimeType: 'text/plain' }
}
