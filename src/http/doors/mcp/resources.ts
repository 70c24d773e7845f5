import { buffer } from 'node:stream/consumers'
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type CompleteResult,
  type ListResourcesResult,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateType,
} from '@modelcontextprotocol/server'
import { accessTo, permits, requireAccess, type Principal } from '../../../access/permissions.ts'
import type { ArtifactPosition } from '../../../artifacts/artifact-store.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import { ServiceError } from '../../../errors.ts'
import { parsePosition, toOffset } from '../../../json/offset.ts'
import type { Knowledge } from '../../../knowledge/knowledge.ts'
import { isId } from '../../server/request-headers.ts'
import { toResourceContents } from './results.ts'

/**
 * The caller's files, and the tenant's documents, as MCP resources. A resource is named by id, so that the address works as long as the
 * resource exists.
 */

export interface ResourceServices {
  artifacts: Pick<Artifacts, 'list' | 'content'>
  knowledge: Pick<Knowledge, 'list' | 'text'>
}

const fileUri = 'agent-core://artifacts/'
const documentUri = 'agent-core://knowledge/'

export const artifactTemplate: ResourceTemplateType = {
  uriTemplate: `${fileUri}{artifact_id}`,
  name: 'artifact',
  title: 'File of the agent',
  description: 'A file that a tool of the agent made in a chat, by the `artifact_id` of `generated_artifacts`.',
}

/** Documents are read as their texts, without layout. */
export const documentTemplate: ResourceTemplateType = {
  uriTemplate: `${documentUri}{document_id}`,
  name: 'document',
  title: 'Document',
  description: 'The text of an uploaded document, by the `document_id` of a passage of knowledge_search.',
}

/** Place in the list: behind a file, or behind a document. */
type ListPosition = ArtifactPosition | { document: string }

/** Begins the position of a document, which no session id can be. */
const documentMark = 'document:'

const pageSize = 100

/** A page of the caller's files, newest first, then of the tenant's documents; without those that the key may not read. */
export async function listResources(
  { artifacts, knowledge }: ResourceServices,
  principal: Principal,
  cursor: string | undefined,
): Promise<ListResourcesResult> {
  const position = cursor === undefined ? undefined : toPosition(cursor)
  const { files, next } = await listFiles(artifacts, principal, position)
  const resources = files.map(({ id, name, type, size }): Resource => ({ uri: `${fileUri}${id}`, name, mimeType: type, size }))
  if (next) return { resources, nextCursor: toOffset(next) }
  const after = position && 'document' in position ? position.document : undefined
  const documents = await listDocuments(knowledge, principal, after)
  const nextCursor = documents.next === undefined ? {} : { nextCursor: toOffset([documentMark, documents.next]) }
  return { resources: [...resources, ...documents.resources], ...nextCursor }
}

async function listFiles(artifacts: ResourceServices['artifacts'], principal: Principal, position: ListPosition | undefined) {
  if (!permits(principal, accessTo.linkArtifact) || (position && 'document' in position)) return { files: [], next: undefined }
  const { artifacts: files, hasMore } = await artifacts.list(principal, { limit: pageSize, before: position })
  const last = files.at(-1)
  return { files, next: hasMore && last ? [last.id, last.sessionId] : undefined }
}

/** Documents that can be read, newest first, after the document `after`; none for a key that may not read documents. */
async function listDocuments(
  knowledge: ResourceServices['knowledge'],
  { tenant, permissions }: Principal,
  after: string | undefined,
): Promise<{ resources: Resource[]; next: string | undefined }> {
  if (!permits({ permissions }, accessTo.readDocument)) return { resources: [], next: undefined }
  const { documents, hasMore } = await knowledge.list(tenant, { limit: pageSize, after })
  const resources = documents
    .filter(({ state }) => state === 'ready')
    .map(({ id, name }) => ({ uri: `${documentUri}${id}`, name, mimeType: 'text/plain' }))
  return { resources, next: hasMore ? documents.at(-1)?.id : undefined }
}

function toPosition(cursor: string): ListPosition {
  const [id, sessionId, ...rest] = parsePosition(cursor) ?? []
  const isPosition = typeof id === 'string' && typeof sessionId === 'string' && rest.length === 0
  if (isPosition) return id === documentMark ? { document: sessionId } : { id, sessionId }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The cursor is not one of this list.')
}

/** Largest file that is read through MCP, in bytes, and longest text of a document, in characters. Larger files have links in the answers. */
const maxSize = 8 * 1024 * 1024

export async function readResource(services: ResourceServices, principal: Principal, uri: string): Promise<ReadResourceResult> {
  const read = uri.startsWith(documentUri) ? readDocument : readFile
  return { contents: [await read(services, principal, uri)] }
}

async function readFile({ artifacts }: ResourceServices, principal: Principal, uri: string) {
  requireAccess(principal, accessTo.linkArtifact)
  const id = uri.startsWith(fileUri) ? uri.slice(fileUri.length) : ''
  if (!isId(id)) throw new ResourceNotFoundError(uri)
  const { type, content } = await artifacts.content(principal, id).catch(asMissing(uri))
  try {
    if (content.size > maxSize) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `The file has more than ${maxSize} bytes: read it at GET /core/v1/artifacts/${id}/content.`,
      )
    }
    return toResourceContents(uri, type, await buffer(content.read()))
  } finally {
    await content.close()
  }
}

async function readDocument({ knowledge }: ResourceServices, principal: Principal, uri: string) {
  requireAccess(principal, accessTo.readDocument)
  const text = await knowledge.text(principal.tenant, uri.slice(documentUri.length)).catch(asMissing(uri))
  if (text.length > maxSize) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The document has more than ${maxSize} characters.`)
  return { uri, mimeType: 'text/plain', text }
}

/** Throws the error of MCP for a resource that does not exist, and every other error as it is. */
function asMissing(uri: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ServiceError && error.code === 'not_found' ? new ResourceNotFoundError(uri) : error
  }
}

/** Ids of the caller's newest files that begin with `start`. */
export async function completeArtifactId(
  artifacts: ResourceServices['artifacts'],
  principal: Principal,
  start: string,
): Promise<CompleteResult> {
  const { files } = await listFiles(artifacts, principal, undefined)
  const ids = files.map(({ id }) => id).filter((id) => id.startsWith(start))
  return { completion: { values: ids } }
}
